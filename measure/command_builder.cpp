#include "measure/command_builder.hpp"

#include "measure/scratch.hpp"

#include <unistd.h>

namespace attune::measure {

/// One build. Kept alive by the supervisor's callback, so that it outlives the builder where it must.
struct command_builder::job : std::enable_shared_from_this<job> {
  explicit job(std::shared_ptr<supervisor> of) : processes(std::move(of)) {}

  job_processes processes;
  const time_source* clock = nullptr;
  trial_ptr what;
  callback done;
  nanoseconds begun{0};
  std::shared_ptr<artifact> made;

  void finish(std::variant<artifact_ptr, failure> data, const process_result& ended) {
    if (auto* failed = std::get_if<failure>(&data); failed && made) blame_lost_folder(*failed, made->directory);
    build_result out{std::move(data), clock->monotonic() - begun, ended.used, ended.notes};
    made.reset(); // a failed build's folder is gone before it is told
    done(std::move(out));
  }

  void fail(failure_kind kind, std::string message) {
    finish(failure{kind, std::move(message), std::nullopt, std::nullopt}, {});
  }

  void start(const command_options& options) {
    const task_spec& spec = what->of->spec;
    begun = clock->monotonic();
    auto folder = processes.scratch().make_folder();
    if (!folder) return fail(failure_kind::internal, folder.err().text());
    std::string file = *folder + "/artifact";
    made = std::make_shared<artifact>(*folder, file);
    if (runs_in_private_folder(spec))
      if (auto laid = lay_out_sources(spec, *folder); !laid.ok())
        return fail(failure_kind::internal, laid.err().text());
    if (auto given = processes.scratch().hand_over(*folder); !given)
      return fail(failure_kind::internal, given.err().text());
    if (!spec.build || spec.build->run.empty()) return finish(artifact_ptr(made), {});
    substitution names(spec, what->config, file, *folder);
    auto request =
        request_for(spec.build->run, names, spec, spec.build->cwd, *folder, spec.build->timeout, options.limits);
    if (!request) return fail(failure_kind::invalid_config, request.err().text());
    if (!processes.start(std::move(*request),
                         [self = shared_from_this()](const process_result& ended) { self->ended(ended); }))
      fail(failure_kind::cancelled, "the build was cancelled");
  }

  void ended(const process_result& result) {
    const build_spec& spec = *what->of->spec.build;
    if (auto failed = failure_of(result, failure_kind::build_error, failure_kind::build_timeout, "build", spec.timeout))
      return finish(std::move(*failed), result);
    bool there = access(made->path.c_str(), F_OK) == 0;
    if (!there && names_placeholder(spec.run, "artifact"))
      return finish(failure{failure_kind::build_error, "the build ended well but left no {artifact}", 0, std::nullopt},
                    result);
    if (!there) made->path.clear();
    finish(artifact_ptr(made), result);
  }
};

command_builder::command_builder(std::shared_ptr<supervisor> processes, command_options options)
    : processes_(std::move(processes)), options_(std::move(options)) {}

command_builder::~command_builder() { cancel(); }

void command_builder::build(trial_ptr what, callback done) {
  auto work = std::make_shared<job>(processes_);
  work->clock = options_.clock;
  work->what = std::move(what);
  work->done = std::move(done);
  in_hand_.is(std::shared_ptr<job_processes>(work, &work->processes));
  work->start(options_);
}

} // namespace attune::measure
