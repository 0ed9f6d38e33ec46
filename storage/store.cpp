#include "core/clock.hpp"
#include "storage/cache.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace attune::storage {

namespace {

constexpr std::uint64_t steps_together = 1024;
/// A durable write of so many rows is quicker as tables (an import of some thousand records at once).
constexpr std::uint32_t rows_for_tables = 24'000;

/// The names as one text that no other list of names has.
std::string joined_names(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names) {
    keys::put(out, static_cast<std::uint32_t>(n.size()));
    out += n;
  }
  return out;
}

const parameter_names& no_names() {
  static const auto none = std::make_shared<const std::vector<std::string>>();
  return none;
}

/// A session's id as a record carries it: 32 hex digits take half the room.
void session_to(std::string_view id, v1::Record& out) {
  const auto k = id.size() == 32 ? key128::from_hex(id) : std::nullopt;
  const bool packed = k && k->hex() == id;
  packed ? out.set_session(k->bytes.data(), k->bytes.size()) : out.clear_session();
  packed || id.empty() ? out.clear_other_session() : out.set_other_session(id.data(), id.size());
}

} // namespace

task_entry entry_of(const task& t) {
  task_entry out;
  out.task = t.identity.task_key;
  out.workload = t.identity.workload_key;
  out.target = t.identity.target_key;
  out.method = t.identity.method_key;
  out.workload_form = t.identity.workload_form;
  out.target_form = t.identity.target_form;
  out.method_form = t.identity.method_form;
  out.name = t.load.name;
  out.workload_args = t.load.args;
  out.target_facts = t.where.facts;
  out.metric = t.metric().name;
  out.unit = t.metric().stored_unit();
  out.direction = t.metric().direction;
  return out;
}

store::store(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

store::~store() {
  if (!impl_->db || !impl_->written) return;
  // So that who only reads need not do it each time.
  for (auto& t : impl_->tasks)
    if (t.stored && t.best && t.best->incomplete()) [[maybe_unused]]
      const auto made = impl_->rebuild_best(t);
  // What cannot be flushed now is in the log, and is replayed.
  [[maybe_unused]] const auto flushed = impl_->db->flush();
}

const std::string& store::path() const noexcept { return impl_->place.path(); }
const std::vector<std::string>& store::notices() const noexcept { return impl_->notices; }

result<std::unique_ptr<store>> store::open(const std::string& directory, const store_options& options) {
  auto place = folder::open(directory, options.read_only, options.create, options.patience);
  if (!place) return place.err();
  auto i = std::make_unique<impl>(std::move(*place));
  i->read_only = options.read_only;
  i->limits = options.cache;
  if (i->place.exists() && !i->place.schema()) {
    // Its beginning was interrupted, or SCHEMA is gone: the database itself says what it is, before it is touched.
    auto look = database::open(i->place.path(), true);
    if (!look) {
      if (!options.read_only) {
        // It is made whole below.
      } else if (look.err().message.find("Column family not found") != std::string::npos) {
        return error{errc::store_unusable,
                     "there is no store in '" + i->place.path() +
                         "' yet: its making was interrupted, and attune tune goes on with it",
                     {}};
      } else {
        return look.err();
      }
    } else {
      std::string text;
      v1::Meta meta;
      const auto got = (*look)->get(family::meta, keys::tagged(keys::meta), text);
      if (!got) return got.err();
      if (*got && !meta.ParseFromString(text))
        return error{errc::store_corrupt, "the store '" + i->place.path() + "' is damaged: no schema in it", {}};
      if (*got && meta.schema() > keys::schema)
        return error{errc::store_newer, "the store '" + i->place.path() + "' was written by a newer version", {}};
    }
  }
  auto db = database::open(i->place.path(), options.read_only);
  if (!db) return db.err();
  i->db = std::move(*db);
  i->book = std::make_unique<cache_book>(*i->db);
  i->losses = i->db->losses();
  if (auto loaded = i->load(); !loaded) return loaded.err();
  i->notices = i->db->notices();
  i->notices.insert(i->notices.end(), i->losses.begin(), i->losses.end());
  if (!options.read_only && i->place.schema() && *i->place.schema() < keys::schema)
    if (auto raised = i->raise_schema(); !raised) return raised.err();
  if (!options.read_only && !i->place.schema()) {
    const auto now = system_time().wall().count();
    v1::Meta meta;
    meta.set_magic(std::string(keys::magic));
    meta.set_schema(keys::schema);
    meta.set_created_ns(now);
    meta.set_program("attune");
    i->begin_group();
    i->put(family::meta, keys::tagged(keys::meta), meta);
    if (auto done = i->finish_group(true); !done) return done.err();
    if (auto sealed = i->place.seal(now); !sealed) return sealed.err();
  }
  return std::unique_ptr<store>(new store(std::move(i)));
}

status store::impl::raise_schema() {
  // The order of the cache is written as it is now; all else that older schemas wrote is read as it is. The file that
  // older programs look at is written last: what was interrupted is begun anew.
  if (auto moved = migrate_cache(); !moved) return moved;
  std::string text;
  v1::Meta meta;
  const auto got = db->get(family::meta, keys::tagged(keys::meta), text);
  if (!got) return got.err();
  if (!*got || !meta.ParseFromString(text)) meta.set_magic(std::string(keys::magic));
  meta.set_schema(keys::schema);
  begin_group();
  put(family::meta, keys::tagged(keys::meta), meta);
  if (auto done = finish_group(true); !done) return done;
  return place.seal(meta.created_ns());
}

status store::impl::load_meta() {
  struct found_task {
    std::uint32_t number = 0;
    std::string name;
    task_info info;
  };
  std::vector<found_task> found;
  std::string bad;
  v1::Task message;
  task_entry entry;
  auto read = db->scan(family::meta, keys::tagged(keys::task), [&](std::string_view key, std::string_view text) {
    if (key.size() != 33 || !message.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
      bad = "a task cannot be read";
      return false;
    }
    if (const auto good = convert::from(message, entry); !good) {
      bad = good.err().message;
      return false;
    }
    if (entry.task.view() != key.substr(1) || message.number() == 0) {
      bad = "a task is not what its key says";
      return false;
    }
    task_info info;
    info.number = message.number();
    info.task = entry.task;
    info.workload = entry.workload;
    info.target = entry.target;
    info.method = entry.method;
    info.direction = entry.direction;
    info.stored = true;
    found.push_back({info.number, std::move(entry.name), std::move(info)});
    return true;
  });
  if (!read) return read;
  std::ranges::sort(found, {}, &found_task::number);
  tasks.resize(1);
  for (auto& [number, name, info] : found) {
    // A number without a task was lost with the task's only write: nothing refers to it.
    if (number > tasks.size() + found.size() + (1u << 20) || number < tasks.size()) {
      bad = "two tasks have one number, or a number is out of range";
      break;
    }
    while (tasks.size() < number) tasks.emplace_back();
    task_numbers[info.task] = number;
    by_workload[info.workload].push_back(number);
    by_name[name].push_back(number);
    tasks.push_back(std::move(info));
  }
  v1::TaskCounts counts;
  if (bad.empty())
    read = db->scan(family::meta, keys::tagged(keys::counts), [&](std::string_view key, std::string_view text) {
      const auto number = key.size() == 5 ? keys::get<std::uint32_t>(key, 1) : 0;
      if (number == 0 || number >= tasks.size() || tasks[number].number == 0 ||
          !counts.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
        bad = "the counts of a task cannot be read";
        return false;
      }
      tasks[number].counts = {
          counts.records(),     counts.failures(),
          counts.last_record(), nanoseconds(counts.last_at_ns()),
          counts.forgotten(),   counts.has_latest_ns() ? std::optional(nanoseconds(counts.latest_ns())) : std::nullopt};
      next_record = std::max(next_record, counts.last_record() + 1);
      return true;
    });
  if (!read) return read;
  v1::Names list;
  names.resize(1);
  names[0] = {no_names(), true};
  if (bad.empty())
    read = db->scan(family::meta, keys::tagged(keys::names), [&](std::string_view key, std::string_view text) {
      if (key.size() != 5 || keys::get<std::uint32_t>(key, 1) != names.size() ||
          !list.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
        bad = "a list of parameter names cannot be read";
        return false;
      }
      auto all = std::make_shared<const std::vector<std::string>>(list.name().begin(), list.name().end());
      names_numbers[joined_names(*all)] = static_cast<std::uint32_t>(names.size());
      names.push_back({std::move(all), true});
      return true;
    });
  if (!read) return read;
  if (!bad.empty()) return convert::damaged("the store '" + place.path() + "' is damaged: " + bad);
  return {};
}

status store::impl::load() {
  if (auto read = load_meta(); !read) return read;
  stamp = db->sequence();
  if (auto read = book->load(stamp); !read)
    return convert::damaged("the store '" + place.path() + "' is damaged: " + read.err().message);
  load_counters();
  const record_id newest = next_record - 1;
  const auto told = place.acknowledged();
  if (told.there > newest) {
    const auto one = told.there == newest + 1;
    losses.push_back((one ? "record " : "records " + std::to_string(newest + 1) + " to ") + std::to_string(told.there) +
                     (one ? " was" : " were") +
                     " acknowledged and cannot be found: the write-ahead log was damaged or removed");
    // Told once.
    if (!read_only) place.acknowledge({told.given, newest});
  }
  // The numbers of what was lost are known outside: they are never given again.
  next_record = std::max(next_record, told.given + 1);
  return {};
}

void store::impl::begin_group() {
  abandon_group();
  if (session_states.size() > session_states_kept) {
    last_state = nullptr;
    session_states.clear();
  }
  {
    const std::unique_lock guard(state_lock);
    let_lists_go();
  }
  batch.Clear();
  ++group;
  stamp_before = stamp;
  book->begin(batch, stamp);
}

void store::impl::abandon_group() {
  // Of a write that did not happen: its stamps are not used up.
  if (!changed.empty()) stamp = stamp_before;
  book->abandoned();
  for (auto* s : stepped) s->staged = s->in_open = 0;
  stepped.clear();
  changed.clear();
  runs.clear();
  times.clear();
  new_names.clear();
}

void store::impl::put(family f, std::string_view key, const google::protobuf::MessageLite& message) {
  value_scratch.clear();
  message.AppendToString(&value_scratch);
  batch.Put(db->handle(f), slice(key), slice(value_scratch));
}

task_info& store::impl::add_task(const task_entry& entry) {
  if (const auto at = task_numbers.find(entry.task); at != task_numbers.end()) return tasks[at->second];
  task_info info;
  info.number = static_cast<std::uint32_t>(tasks.size());
  info.task = entry.task;
  info.workload = entry.workload;
  info.target = entry.target;
  info.method = entry.method;
  info.direction = entry.direction;
  info.best.emplace(entry.direction);
  v1::Task message;
  convert::to(entry, info.number, message);
  info.entry = message.SerializeAsString();
  const std::unique_lock guard(state_lock);
  task_numbers[entry.task] = info.number;
  by_workload[entry.workload].push_back(info.number);
  by_name[entry.name].push_back(info.number);
  listed.push_back(info.number);
  tasks.push_back(std::move(info));
  return tasks.back();
}

task_info& store::impl::info_of(const task_ptr& of) {
  // A tuning run writes one task: no hashing for each record. Holding the pointer keeps its address from being reused.
  if (of == last_task) return *last_info;
  const auto at = task_numbers.find(of->identity.task_key);
  last_info = at != task_numbers.end() ? &tasks[at->second] : &add_task(entry_of(*of));
  last_task = of;
  return *last_info;
}

std::uint32_t store::impl::names_of(const configuration& config) {
  const auto& list = config.names() ? config.names() : no_names();
  if (list == last_names) return last_names_number;
  std::uint32_t number = 0;
  if (!list->empty()) {
    const auto [at, fresh] = names_numbers.try_emplace(joined_names(*list), static_cast<std::uint32_t>(names.size()));
    number = at->second;
    if (fresh) {
      const std::unique_lock guard(state_lock);
      names.push_back({list, false});
    }
  }
  last_names = list;
  last_names_number = number;
  return number;
}

status store::impl::prepare(task_info& task) {
  if (task.in_group == group) return {};
  if (auto ready = need_best(task); !ready) return ready;
  // An older version wrote it: once for each such task.
  if (!task.counts.latest && task.counts.records + task.counts.forgotten > 0)
    if (auto ready = rebuild_best(task); !ready) return ready;
  task.in_group = group;
  task.at_group = changed.size();
  changed.push_back({&task, task.counts, std::nullopt});
  if (!task.stored) batch.Put(db->handle(family::meta), slice(keys::of_task(task.task)), slice(task.entry));
  return {};
}

void store::impl::stage(task_info& task, const key128& key, const configuration& config, const outcome_ptr& result,
                        std::string_view session, bool cacheable, std::size_t canonical_size, record_id id,
                        bool measured_now, const std::optional<cache_book::entry>* in_book) {
  auto& t = changed[task.at_group];
  const bool before = t.counts.latest && result->at < *t.counts.latest; // something that has a later time of day
  const bool late = before && !measured_now;
  const auto counts_from = before && measured_now ? *t.counts.latest : result->at;
  t.counts.latest = late ? *t.counts.latest : counts_from;
  times.push_back(counts_from);
  ++t.counts.records;
  t.counts.failures += result->failed() == nullptr ? 0 : 1;
  t.counts.last = id;
  t.counts.last_at = result->at;

  const auto number = names_of(config);
  if (!names[number].stored && std::find(new_names.begin(), new_names.end(), number) == new_names.end()) {
    new_names.push_back(number);
    v1::Names list;
    for (const auto& n : *names[number].names) list.add_name(n);
    put(family::meta, keys::tagged(keys::names, number), list);
  }

  record_message.set_key(key.bytes.data(), key.bytes.size());
  record_message.set_names(number);
  convert::to(config.values(), *record_message.mutable_values());
  convert::to(*result, *record_message.mutable_outcome());
  session_to(session, record_message);
  counts_from != result->at ? record_message.set_counts_from_ns(counts_from.count())
                            : record_message.clear_counts_from_ns();
  keys::record_key(key_scratch, task.number, id);
  put(family::records, key_scratch, record_message);
  if (runs.empty() || runs.back().task != task.number || runs.back().first + runs.back().count != id)
    runs.push_back({id, task.number, 0});
  ++runs.back().count;

  if (cacheable && !(late && cache_has_newer(task, key, counts_from)))
    book->put(key, task.number, id, cache_cost(canonical_size, *result), in_book);

  if (!conclusive(*result)) return;
  const auto* m = result->measured();
  const auto value = m == nullptr ? std::nullopt : eligible(m->value);
  if (!(t.best ? *t.best : *task.best).concerns(key, value)) return;
  if (!t.best) t.best = *task.best;
  t.best->apply(key, id, value, counts_from, late);
}

/// What was evicted, or cannot be read, may be newer.
bool store::impl::cache_has_newer(const task_info& task, const key128& key, nanoseconds than) const {
  const auto known = book->current(key);
  if (!known) return false;
  if (known->record >= next_record) return times[known->record - next_record] > than; // of the write that is being made
  const auto there = known->record != 0 ? record_at(task, known->record) : result<std::optional<record>>(std::nullopt);
  return !there || !*there || (*there)->counts_from > than;
}

void store::impl::put_steps(session_state& state) {
  if (state.in_open == 0) return;
  key_scratch = state.steps;
  keys::put(key_scratch, state.next + state.staged);
  put(family::sessions, key_scratch, state.open);
  state.staged += std::exchange(state.in_open, 0);
}

status store::impl::stage(const step_item& item) {
  bool in_record = item.record != 0;
  if (in_record && forgot) {
    const auto there =
        db->get(family::records, keys::of_record(info_of(item.what->of).number, item.record), value_scratch);
    if (!there) return there.err();
    in_record = *there;
    // As if it had never been told: its trial is asked for again.
    if (!in_record && !item.result) return {};
  }
  const auto found = state_of(item.session);
  if (!found) return found.err();
  auto& state = **found;
  if (state.staged == 0 && state.in_open == 0) stepped.push_back(&state);
  if (state.in_open >= steps_together) put_steps(state);
  if (state.in_open == 0) state.open.Clear();
  auto& step = state.in_open++ == 0 ? state.open : *state.open.add_more();

  const auto& what = *item.what;
  step.set_number(what.number);
  step.set_asked_before(item.asked_before);
  step.set_from_cache(item.from_cache);
  if (item.amends) convert::to(*item.amends, *step.mutable_amends());
  if (in_record) {
    step.mutable_record()->set_task(info_of(what.of).number);
    step.mutable_record()->set_record(item.record);
  } else {
    auto& all = *step.mutable_inline_();
    all.set_key(what.key.bytes.data(), what.key.bytes.size());
    convert::to(what.config, *all.mutable_configuration());
    if (item.guess)
      convert::to(*item.guess, *step.mutable_estimate());
    else
      convert::to(*item.result, *all.mutable_outcome());
  }
  return {};
}

status store::impl::finish_group(bool durable) {
  for (auto* state : stepped) put_steps(*state);
  v1::IdRun run_message;
  for (const auto& r : runs) {
    run_message.set_task(r.task);
    run_message.set_count(r.count);
    put(family::records, keys::of_run(r.first), run_message);
  }
  v1::TaskCounts counts_message;
  for (const auto& t : changed) {
    counts_message.set_records(t.counts.records);
    counts_message.set_failures(t.counts.failures);
    counts_message.set_last_record(t.counts.last);
    counts_message.set_last_at_ns(t.counts.last_at.count());
    counts_message.set_forgotten(t.counts.forgotten);
    t.counts.latest ? counts_message.set_latest_ns(t.counts.latest->count()) : counts_message.clear_latest_ns();
    put(family::meta, keys::tagged(keys::counts, t.task->number), counts_message);
    if (t.best)
      put(family::best, keys::of_best(t.task->workload, t.task->target, t.task->method),
          message_of(t.task->number, *t.best));
  }
  if (const auto evicted = book->trim(limits); evicted > 0) count_evicted(evicted);
  book->finish();
  const bool many = durable && batch.Count() >= rows_for_tables;
  if (auto done = many ? db->write_tables(batch) : db->write(batch, durable); !done) {
    stamp = stamp_before;
    abandon_group();
    return done;
  }
  written = true;
  book->committed();
  for (auto* s : stepped) s->next += std::exchange(s->staged, 0);
  std::vector<task_info*> rebuild;
  {
    const std::unique_lock guard(state_lock);
    for (auto& t : changed) {
      t.task->counts = t.counts;
      t.task->stored = true;
      t.task->entry = {};
      if (!t.best) continue;
      t.task->best = std::move(t.best);
      t.task->top = nullptr;
      // Doubts of imports are cleared up when somebody asks, or here, each time at twice the cost: in all no more than
      // reading the records twice.
      if (t.task->best->incomplete() && (t.task->best->known() || t.counts.records >= 2 * t.task->rebuilt))
        rebuild.push_back(t.task);
    }
    for (const auto n : new_names) names[n].stored = true;
  }
  stepped.clear();
  changed.clear();
  // Where this fails the list stays marked as incomplete, and is rebuilt when it is asked for.
  for (auto* t : rebuild) [[maybe_unused]] const auto done = rebuild_best(*t);
  return {};
}

result<v1::Sender> store::impl::sender_of(const append_origin& from) const {
  v1::Sender out;
  std::string text;
  const auto got = db->get(family::meta, keys::of_sender(from.sender), text);
  if (!got) return got.err();
  if (*got && !out.ParseFromString(text))
    return convert::damaged("how far a sender has come cannot be read in '" + place.path() + "'");
  return out;
}

status store::append(std::span<record_item> records, std::span<const step_item> steps, const append_origin* from) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  v1::Sender sender;
  if (from != nullptr) {
    auto known = i.sender_of(*from);
    if (!known) return known.err();
    sender = *std::move(known);
    const auto already = [](std::uint64_t done, std::uint64_t first, std::size_t count) {
      return static_cast<std::size_t>(std::min<std::uint64_t>(done < first ? 0 : done - first + 1, count));
    };
    const auto old = already(sender.records(), from->first_record, records.size());
    for (std::size_t n = 0; n < old; ++n) {
      const auto number = from->first_record + n;
      records[n].record = number < sender.first() ? 0 : sender.record() + (number - sender.first());
    }
    const auto old_steps = already(sender.steps(), from->first_step, steps.size());
    steps = steps.subspan(old_steps);
    records = records.subspan(old);
    if (!records.empty()) {
      sender.set_first(from->first_record + old);
      sender.set_record(i.next_record);
      sender.set_records(sender.first() + records.size() - 1);
    }
    if (!steps.empty()) sender.set_steps(from->first_step + old_steps + steps.size() - 1);
  }
  if (records.empty() && steps.empty()) return {};
  if (!records.empty() && !i.book->at_ease(i.limits, records.size())) i.fold_uses();
  i.begin_group();
  auto id = i.next_record;
  for (const auto& r : records) {
    auto& task = i.info_of(r.what->of);
    if (auto ready = i.prepare(task); !ready) return ready;
    i.stage(task, r.what->key, r.what->config, r.result, r.session, r.cacheable, r.what->canonical.size(), id++, true);
  }
  for (const auto& s : steps)
    if (auto staged = i.stage(s); !staged) return staged;
  if (from != nullptr) i.put(family::meta, keys::of_sender(from->sender), sender);
  if (auto done = i.finish_group(!records.empty()); !done) return done;
  i.evict_rest();
  if (records.empty()) return {};
  for (auto& r : records) r.record = i.next_record++;
  i.place.acknowledge({i.next_record - 1, i.next_record - 1});
  return {};
}

status store::forget_sender(const key128& sender) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  i.begin_group();
  i.batch.Delete(i.db->handle(family::meta), slice(keys::of_sender(sender)));
  return i.finish_group(false);
}

status store::trim_senders(std::size_t keep) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  std::vector<std::pair<std::uint64_t, std::string>> all;
  v1::Sender sender;
  auto read = i.db->scan(family::meta, keys::tagged(keys::sender), [&](std::string_view key, std::string_view value) {
    const bool good = sender.ParseFromArray(value.data(), static_cast<int>(value.size()));
    all.emplace_back(good ? sender.record() : 0, key);
    return true;
  });
  if (!read || all.size() <= keep) return read;
  std::sort(all.begin(), all.end(), std::greater<>());
  i.begin_group();
  for (auto gone = all.begin() + static_cast<std::ptrdiff_t>(keep); gone != all.end(); ++gone)
    i.batch.Delete(i.db->handle(family::meta), slice(gone->second));
  return i.finish_group(false);
}

} // namespace attune::storage
