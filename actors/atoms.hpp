#pragma once

#include <caf/atom.hpp>

/// Every atom of the messages: verbs for commands, nouns for queries; at most ten characters of [A-Za-z0-9_].
namespace attune::atom {

// To a tuner.
using begin = caf::atom_constant<caf::atom("begin")>;
using pause = caf::atom_constant<caf::atom("pause")>;
using resume = caf::atom_constant<caf::atom("resume")>;
using cancel = caf::atom_constant<caf::atom("cancel")>;
using status = caf::atom_constant<caf::atom("status")>;
using report = caf::atom_constant<caf::atom("report")>;
using ask = caf::atom_constant<caf::atom("ask")>;
using tell = caf::atom_constant<caf::atom("tell")>;
using credits = caf::atom_constant<caf::atom("credits")>;
using doubt = caf::atom_constant<caf::atom("doubt")>;
using done = caf::atom_constant<caf::atom("done")>;
using miss = caf::atom_constant<caf::atom("miss")>;
using allow = caf::atom_constant<caf::atom("allow")>;
using finish = caf::atom_constant<caf::atom("finish")>;

// To an opener.
using open = caf::atom_constant<caf::atom("open")>;

// To the cache.
using attach = caf::atom_constant<caf::atom("attach")>;
using detach = caf::atom_constant<caf::atom("detach")>;
using lookup = caf::atom_constant<caf::atom("lookup")>;
using fill = caf::atom_constant<caf::atom("fill")>;
using claim = caf::atom_constant<caf::atom("claim")>;
using invalidate = caf::atom_constant<caf::atom("invalidate")>;
using statistic = caf::atom_constant<caf::atom("statistic")>;

// To the archive.
using recall = caf::atom_constant<caf::atom("recall")>;

using wire = caf::atom_constant<caf::atom("wire")>;

// To the scheduler.
using again = caf::atom_constant<caf::atom("again")>;
using measure = caf::atom_constant<caf::atom("measure")>;
using aside = caf::atom_constant<caf::atom("aside")>;
using share = caf::atom_constant<caf::atom("share")>;
using refuse = caf::atom_constant<caf::atom("refuse")>;
using join = caf::atom_constant<caf::atom("join")>;
using leave = caf::atom_constant<caf::atom("leave")>;

// To the model.
using train = caf::atom_constant<caf::atom("train")>;

// To a builder, a runner.
using build = caf::atom_constant<caf::atom("build")>;
using run = caf::atom_constant<caf::atom("run")>;

// To the recorder.
using append = caf::atom_constant<caf::atom("append")>;
using journal = caf::atom_constant<caf::atom("journal")>;
using recency = caf::atom_constant<caf::atom("recency")>;
using flush = caf::atom_constant<caf::atom("flush")>;

// To the monitor and from it.
using note = caf::atom_constant<caf::atom("note")>;
using subscribe = caf::atom_constant<caf::atom("subscribe")>;
using snapshot = caf::atom_constant<caf::atom("snapshot")>;

// From an actor to itself.
using internal = caf::atom_constant<caf::atom("internal")>;
using tick = caf::atom_constant<caf::atom("tick")>;

} // namespace attune::atom
