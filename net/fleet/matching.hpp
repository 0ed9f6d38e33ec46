#pragma once

#include "core/target.hpp"
#include "core/task.hpp"
#include "net/fleet/registry.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attune::net::fleet {

/// Which devices serve a task, and what its target is there.
///
/// A spec's `target` asks. Its `device` must be the device's class (the label `device`, "local" where the agent gives
/// none) or its name. Every other entry that any device of the fleet has as a label or among the facts of its machine
/// must have the same text there; what no device knows (flags, a driver) says nothing of where, and is part of the
/// identity alone. Without `device` every class is right. Which entries ask is decided when a session begins.
///
/// The identity of a measurement has the target on which it is made: the entries as written, `device`, and the facts of
/// the machine that measures. So a session is bound to a class when it begins: the devices on which the target comes
/// out the same share it, labels that the spec does not name make no difference, and another machine under the same
/// label is another target.

/// The names of labels and facts that any of these devices has.
std::set<std::string> known_names(const std::vector<const description*>& devices);

/// Whether the device is what is asked for. `known`: see above.
bool matches(const arguments& asked, const description& device, const std::set<std::string>& known);

/// The target of a task with these entries on this device.
target target_on(const arguments& asked, const description& device);

/// Whether the device serves a task whose target, and which of its entries ask, has been decided.
bool serves(const task& t, const description& device, const std::set<std::string>& known);

/// The class for a task with these entries: that with the most slots, of equal ones the first by its text. None where
/// no device is right.
std::optional<target> choose(const arguments& asked, const std::vector<const description*>& devices);

/// What a person is told where nothing is right: what was asked for and what there is.
std::string nothing_serves(const arguments& asked, const std::vector<const description*>& devices);

} // namespace attune::net::fleet
