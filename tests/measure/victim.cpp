// A tuner to be killed: starts the shell command given as its second argument, prints its guardian's pid and its
// private root once the command has written a line, and waits. The first argument is `cgroup` or `tree`.
#include "measure/scratch.hpp"
#include "measure/supervisor.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

using namespace attune::measure;

int main(int count, char** words) {
  if (count != 3) return 2;
  supervisor_options options;
  options.cgroups = std::string_view(words[1]) == "cgroup";
  auto made = supervisor::create(options);
  if (!made) return 1;
  auto& s = **made;
  auto folder = s.scratch().make_folder();
  if (!folder) return 1;
  // The command says that it is up by opening this for writing.
  std::string fifo = *folder + "/up";
  if (mkfifo(fifo.c_str(), 0600) != 0) return 1;
  process_request request;
  request.argv = {"/bin/sh", "-c", std::string(words[2]) + "\necho up > " + fifo + "\nsleep 1000"};
  s.start(std::move(request), [](const process_result&) {});
  char line[8];
  int fd = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, line, sizeof line) <= 0) return 1;
  std::printf("%d %s\n", s.guardian(), s.scratch().root().c_str());
  std::fflush(stdout);
  pause();
  return 0;
}
