#pragma once
#include <string>

#include "tuning/openmpi/rules.hpp"

namespace commtune::openmpi {

/// A file whose rules all ask for the default cannot show that the library reads it: a dropped file
/// looks the same. The canary is the same file with one block changed: `ranks` ranks use
/// `algorithm` at every size of `collective`. If the canary changes what runs, a file of this shape
/// is read.
RulesFile canary_of(RulesFile rules, Collective collective, int ranks,
                    const TunedAlgorithm& algorithm);

/// An ordered algorithm that runs on `ranks` ranks and is not `used`; nullptr when there is none.
const TunedAlgorithm* canary_algorithm(Collective collective, int ranks, std::string_view used,
                                       Family family);

/// The numbers of a rules file, as its reader takes them.
std::string to_text(const RulesFile&);

}  // namespace commtune::openmpi
