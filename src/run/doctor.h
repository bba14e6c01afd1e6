// The facts of a run for the rules of result/symptoms.h, before it runs.
#pragma once

#include "comm/world.h"
#include "result/symptoms.h"
#include "run/assemble.h"

namespace ttt {

// Collective, of an assembled run: looks at the processors for half a second.
result::SymptomFacts doctor_facts(const Run& run, const comm::World& world);

}  // namespace ttt
