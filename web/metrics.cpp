#include "web/metrics.hpp"

#include "web/model.hpp"

#include <deque>
#include <limits>
#include <map>
#include <prometheus/text_serializer.h>

namespace attune::web {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

MetricFamily& family(std::deque<MetricFamily>& in, const char* name, const char* help, MetricType type) {
  auto& out = in.emplace_back();
  out.name = name;
  out.help = help;
  out.type = type;
  return out;
}

void put(MetricFamily& in, double value, labels with = {}) {
  auto& m = in.metric.emplace_back();
  m.label = std::move(with);
  m.counter.value = value;
  m.gauge.value = value;
}

double count(std::uint64_t n) { return static_cast<double>(n); }

} // namespace

std::string metrics_text(const model& of, const server_figures& server) {
  std::deque<MetricFamily> all; // its items stay where they are

  auto& trials = family(all, "attune_trials_total", "Trials that ended, by task and by how.", MetricType::Counter);
  auto& cached = family(all, "attune_trials_cached_total", "Trials that the cache answered.", MetricType::Counter);
  auto& best =
      family(all, "attune_best", "The best value so far, in the unit of the task's metric.", MetricType::Gauge);
  auto& built = family(all, "attune_build_seconds_total", "Time in builders' hands.", MetricType::Counter);
  auto& run = family(all, "attune_run_seconds_total", "Time in runners' hands.", MetricType::Counter);
  auto& going = family(all, "attune_sessions", "Sessions, by whether they are under way.", MetricType::Gauge);
  struct sums {
    std::vector<std::uint64_t> endings;
    std::uint64_t cached = 0;
    double built = 0, run = 0;
    std::optional<double> best;
    std::string unit;
  };
  // Sessions of one task are one series: their number would grow without end.
  std::map<std::string, sums> tasks;
  std::uint64_t under_way = 0;
  for (const auto& [number, s] : of.sessions()) {
    auto& t = tasks[s.head.task];
    t.endings.resize(s.endings.size());
    for (std::size_t i = 0; i < s.endings.size(); ++i) t.endings[i] += s.endings[i];
    t.cached += s.cached;
    t.built += s.built_s;
    t.run += s.run_s;
    t.unit = s.head.unit;
    if (s.best && (!t.best || (s.head.direction == goal::minimize ? *s.best < *t.best : *s.best > *t.best)))
      t.best = s.best;
    under_way += s.ended ? 0 : 1;
  }
  for (const auto& [name, t] : tasks) {
    for (std::size_t i = 0; i < t.endings.size(); ++i)
      if (i == 0 || t.endings[i] > 0)
        put(trials, count(t.endings[i]), {{"task", name}, {"result", ending_name(static_cast<std::uint8_t>(i))}});
    put(cached, count(t.cached), {{"task", name}});
    put(built, t.built, {{"task", name}});
    put(run, t.run, {{"task", name}});
    if (t.best) put(best, *t.best, {{"task", name}, {"unit", t.unit}});
  }
  put(going, count(under_way), {{"state", "running"}});
  put(going, count(of.sessions().size() - under_way), {{"state", "ended"}});

  auto& in = family(all, "attune_trials_in_stage", "Trials on their way, by where they are.", MetricType::Gauge);
  auto& took = family(all, "attune_stage_duration_seconds",
                      "How long trials were in a stage; told: from the proposal to the end.", MetricType::Histogram);
  for (std::size_t i = 0; i < stage_count; ++i) {
    const auto& s = of.stages()[i];
    const auto which = static_cast<stage>(i);
    const char* name = to_string(which);
    if (which == stage::propose) continue; // no trial is ever in it
    if (which != stage::clean && which != stage::told) put(in, count(s.in), {{"stage", name}});
    auto& m = took.metric.emplace_back();
    m.label = {{"stage", name}};
    m.histogram.sample_count = s.took.count();
    m.histogram.sample_sum = s.took.sum_s();
    std::uint64_t sum = 0;
    for (std::size_t b = 0; b < latency_histogram::bounds_s.size(); ++b) {
      sum += s.took.buckets()[b];
      m.histogram.bucket.push_back({sum, latency_histogram::bounds_s[b]});
    }
    m.histogram.bucket.push_back({s.took.count(), std::numeric_limits<double>::infinity()});
  }

  auto& lookups =
      family(all, "attune_cache_lookups_total", "Lookups of the cache, by what came of them.", MetricType::Counter);
  put(lookups, count(of.hits()), {{"result", "hit"}});
  put(lookups, count(of.joined()), {{"result", "joined"}});
  put(lookups, count(of.misses()), {{"result", "miss"}});
  put(family(all, "attune_retries_total", "Trials that were tried again.", MetricType::Counter), count(of.retried()));
  put(family(all, "attune_quarantined_total", "Trials that are not tried again.", MetricType::Counter),
      count(of.quarantined()));
  auto& places = family(all, "attune_places", "Slots and builders, by what they do.", MetricType::Gauge);
  std::uint64_t idle = 0, building = 0, running = 0, gone = 0;
  for (const auto& p : of.places())
    ++(!p.here                              ? gone
       : p.doing == place_view::work::build ? building
       : p.doing == place_view::work::run   ? running
                                            : idle);
  put(places, count(idle), {{"state", "idle"}});
  put(places, count(building), {{"state", "building"}});
  put(places, count(running), {{"state", "running"}});
  put(places, count(gone), {{"state", "gone"}});
  put(family(all, "attune_events_total", "Events that were taken in.", MetricType::Counter), count(of.events()));
  put(family(all, "attune_events_lost_total", "Events that were too many to be taken in.", MetricType::Counter),
      count(of.lost()));
  put(family(all, "attune_store_trouble", "1 while the store cannot be written.", MetricType::Gauge),
      of.trouble().empty() ? 0 : 1);
  put(family(all, "attune_watchers", "Streams that are followed.", MetricType::Gauge), count(server.watchers));
  put(family(all, "attune_watchers_dropped_total", "Streams that did not keep up.", MetricType::Counter),
      count(server.dropped));

  std::erase_if(all, [](const MetricFamily& f) { return f.metric.empty(); });
  return prometheus::TextSerializer().Serialize({all.begin(), all.end()});
}

} // namespace attune::web
