// The journals of sessions.
#include "storage/store_impl.hpp"

namespace attune::storage {

namespace {

/// The number of the session's next step: one more than the last that is there.
result<std::uint64_t> next_step(const database& db, std::string_view id) {
  const std::string prefix = keys::steps_of(id);
  std::string behind = prefix;
  behind.back() = '\1';
  const auto it = db.iterate(family::sessions);
  it->SeekForPrev(slice(behind));
  if (!it->status().ok()) return db.error_of(it->status(), "read");
  const std::uint64_t none = 0;
  if (!it->Valid() || !it->key().starts_with(slice(prefix)) || it->key().size() != prefix.size() + 8) return none;
  return keys::get<std::uint64_t>({it->key().data(), it->key().size()}, prefix.size()) + 1;
}

} // namespace

result<session_state*> store::impl::state_of(const std::string& id) {
  if (const auto at = session_states.find(id); at != session_states.end()) return &at->second;
  const auto next = next_step(*db, id);
  if (!next) return next.err();
  auto& state = session_states[id];
  state.next = *next;
  return &state;
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

status store::session_steps(std::string_view id, const std::function<void(const session_step&)>& visit) const {
  auto& i = *impl_;
  const std::string prefix = keys::steps_of(id);
  std::optional<error> bad;
  v1::SessionStep message;
  v1::Record record_message;
  const auto records = i.db->iterate(family::records);
  auto read = i.db->scan(family::sessions, prefix, [&](std::string_view key, std::string_view value) {
    const auto fail = [&](const std::string& what) {
      bad = convert::damaged("a step of session " + std::string(id) + " in '" + path() + "': " + what);
      return false;
    };
    if (key.size() != prefix.size() + 8 || !message.ParseFromArray(value.data(), static_cast<int>(value.size())))
      return fail("it cannot be read");
    session_step out;
    out.number = message.number();
    out.asked_before = message.asked_before();
    out.from_cache = message.from_cache();
    auto result = std::make_shared<outcome>();
    if (message.has_inline_()) {
      const auto& all = message.inline_();
      if (auto good = convert::from(all.key(), out.key); !good) return fail(good.err().message);
      if (auto good = convert::from(all.configuration(), out.config); !good) return fail(good.err().message);
      if (auto good = convert::from(all.outcome(), *result); !good) return fail(good.err().message);
    } else {
      const auto number = message.record().task();
      const task_info* task = nullptr;
      {
        const std::shared_lock guard(i.state_lock);
        if (number < i.tasks.size() && i.tasks[number].stored) task = &i.tasks[number];
      }
      if (task == nullptr) return fail("its record is missing");
      const auto wanted = keys::of_record(number, message.record().record());
      // Steps follow each other about as their records do: the next one is tried before a search.
      if (records->Valid()) records->Next();
      if (!records->Valid() || records->key() != slice(wanted)) records->Seek(slice(wanted));
      if (!records->Valid() || records->key() != slice(wanted)) {
        if (records->status().ok()) return fail("its record is missing");
        bad = i.db->error_of(records->status(), "read");
        return false;
      }
      auto r = i.read_record(*task, message.record().record(), {records->value().data(), records->value().size()},
                             record_message);
      if (!r) {
        bad = r.err();
        return false;
      }
      out.key = r->key;
      out.config = std::move(r->config);
      *result = std::move(r->result);
    }
    out.result = std::move(result);
    visit(out);
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
  i.session_states.erase(std::string(id));
  return {};
}

} // namespace attune::storage
