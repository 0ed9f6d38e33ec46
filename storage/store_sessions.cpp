// The journals of sessions.
#include "storage/store_impl.hpp"

namespace attune::storage {

namespace {

/// The number of the session's next step: behind the last that is there.
result<std::uint64_t> next_step(const database& db, std::string_view id) {
  const std::string prefix = keys::steps_of(id);
  std::string behind = prefix;
  behind.back() = '\1';
  const auto it = db.iterate(family::sessions);
  it->SeekForPrev(slice(behind));
  if (!it->status().ok()) return db.error_of(it->status(), "read");
  const std::uint64_t none = 0;
  if (!it->Valid() || !it->key().starts_with(slice(prefix)) || it->key().size() != prefix.size() + 8) return none;
  v1::SessionStep last;
  if (!last.ParseFromArray(it->value().data(), static_cast<int>(it->value().size())))
    return convert::damaged("the last step of session " + std::string(id) + " cannot be read");
  return keys::get<std::uint64_t>({it->key().data(), it->key().size()}, prefix.size()) + 1 +
         static_cast<std::uint64_t>(last.more_size());
}

} // namespace

result<session_state*> store::impl::state_of(std::string_view id) {
  if (last_state != nullptr && last_session == id) return last_state;
  auto at = session_states.find(std::string(id));
  if (at == session_states.end()) {
    const auto next = next_step(*db, id);
    if (!next) return next.err();
    at = session_states.try_emplace(std::string(id)).first;
    at->second.steps = keys::steps_of(id);
    at->second.next = *next;
  }
  last_session = id;
  return last_state = &at->second;
}

status store::begin_session(const session_entry& session) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  const std::string key = keys::tagged(keys::session, session.id);
  std::string text;
  const auto got = i.db->get(family::sessions, key, text);
  if (!got) return got.err();
  if (*got) return {};
  v1::Session message;
  convert::to(session, message);
  i.begin_group();
  i.put(family::sessions, key, message);
  return i.finish_group(false);
}

result<std::optional<session_entry>> store::load_session(std::string_view id) const {
  auto& i = *impl_;
  std::string text;
  const auto got = i.db->get(family::sessions, keys::tagged(keys::session, id), text);
  if (!got) return got.err();
  if (!*got) return std::optional<session_entry>();
  v1::Session message;
  session_entry out;
  if (!message.ParseFromString(text)) return convert::damaged("a session in '" + path() + "' cannot be read");
  if (auto good = convert::from(message, out); !good) return good.err();
  out.id = id;
  const auto steps = next_step(*i.db, id);
  if (!steps) return steps.err();
  out.steps = *steps;
  return std::optional<session_entry>(std::move(out));
}

status store::add_spent(std::string_view id, nanoseconds more) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  const std::string key = keys::tagged(keys::session, id);
  std::string text;
  const auto got = i.db->get(family::sessions, key, text);
  if (!got) return got.err();
  v1::Session message;
  if (!*got) return {};
  if (!message.ParseFromString(text)) return convert::damaged("a session in '" + path() + "' cannot be read");
  message.set_spent_ns(message.spent_ns() + more.count());
  i.begin_group();
  i.put(family::sessions, key, message);
  return i.finish_group(false);
}

status store::sessions(const std::function<void(const session_entry&)>& visit) const {
  std::vector<std::string> ids;
  auto read = impl_->db->scan(family::sessions, keys::tagged(keys::session), [&](std::string_view key, auto) {
    ids.emplace_back(key.substr(1));
    return true;
  });
  if (!read) return read;
  for (const auto& id : ids) {
    const auto entry = load_session(id);
    if (!entry) return entry.err();
    if (*entry) visit(**entry);
  }
  return {};
}

namespace {

/// Reads steps, and the records that they name. Steps follow each other about as their records do: the next record is
/// tried before a search.
class step_reader {
public:
  explicit step_reader(const store::impl& of) : of_(of), records_(of.db->iterate(family::records)) {}
  result<session_step> read(const v1::SessionStep& message);

private:
  status follow(const v1::RecordReference& to, session_step& out, outcome& ended);

  const store::impl& of_;
  std::unique_ptr<rocksdb::Iterator> records_;
  v1::Record record_message_;
  std::string wanted_;
};

status step_reader::follow(const v1::RecordReference& to, session_step& out, outcome& ended) {
  const task_info* task = nullptr;
  {
    const std::shared_lock guard(of_.state_lock);
    if (to.task() < of_.tasks.size() && of_.tasks[to.task()].stored) task = &of_.tasks[to.task()];
  }
  if (task == nullptr) return convert::damaged("its record is missing");
  keys::record_key(wanted_, to.task(), to.record());
  if (records_->Valid()) records_->Next();
  if (!records_->Valid() || records_->key() != slice(wanted_)) records_->Seek(slice(wanted_));
  if (!records_->Valid() || records_->key() != slice(wanted_)) {
    if (records_->status().ok()) return convert::damaged("its record is missing");
    return of_.db->error_of(records_->status(), "read");
  }
  auto r = of_.read_record(*task, to.record(), {records_->value().data(), records_->value().size()}, record_message_);
  if (!r) return r.err();
  out.key = r->key;
  out.config = std::move(r->config);
  ended = std::move(r->result);
  return {};
}

result<session_step> step_reader::read(const v1::SessionStep& message) {
  session_step out;
  out.number = message.number();
  out.asked_before = message.asked_before();
  out.from_cache = message.from_cache();
  if (message.has_amends()) out.amends = convert::from(message.amends());
  if (message.has_estimate()) {
    out.guess.emplace();
    if (auto good = convert::from(message.estimate(), *out.guess); !good) return good.err();
    if (auto good = convert::from(message.inline_().key(), out.key); !good) return good.err();
    if (auto good = convert::from(message.inline_().configuration(), out.config); !good) return good.err();
    return out;
  }
  auto ended = std::make_shared<outcome>();
  if (message.has_inline_()) {
    const auto& all = message.inline_();
    if (auto good = convert::from(all.key(), out.key); !good) return good.err();
    if (auto good = convert::from(all.configuration(), out.config); !good) return good.err();
    if (auto good = convert::from(all.outcome(), *ended); !good) return good.err();
  } else if (auto good = follow(message.record(), out, *ended); !good) {
    return good.err();
  }
  out.result = std::move(ended);
  return out;
}

} // namespace

status store::session_steps(std::string_view id, const std::function<void(const session_step&)>& visit) const {
  auto& i = *impl_;
  const std::string prefix = keys::steps_of(id);
  std::optional<error> bad;
  v1::SessionStep message;
  step_reader reader(i);
  const auto give = [&](const v1::SessionStep& one) {
    const auto step = reader.read(one);
    if (step) {
      visit(*step);
      return true;
    }
    bad = step.err();
    if (bad->code == errc::store_corrupt)
      bad = convert::damaged("a step of session " + std::string(id) + " in '" + path() + "': " + bad->message);
    return false;
  };
  auto read = i.db->scan(family::sessions, prefix, [&](std::string_view key, std::string_view value) {
    if (key.size() != prefix.size() + 8 || !message.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      bad = convert::damaged("a step of session " + std::string(id) + " in '" + path() + "': it cannot be read");
      return false;
    }
    if (!give(message)) return false;
    for (const auto& one : message.more())
      if (!give(one)) return false;
    return true;
  });
  if (bad) return *bad;
  return read;
}

status store::erase_session(std::string_view id) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  const std::string first = keys::steps_of(id);
  std::string behind = first;
  behind.back() = '\1';
  i.begin_group();
  i.batch.Delete(i.db->handle(family::sessions), slice(keys::tagged(keys::session, id)));
  i.batch.DeleteRange(i.db->handle(family::sessions), slice(first), slice(behind));
  if (auto done = i.finish_group(true); !done) return done;
  i.last_state = nullptr;
  i.session_states.erase(std::string(id));
  return {};
}

} // namespace attune::storage
