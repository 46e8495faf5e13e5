// An idle agent should not hold what only its start or a task needed.
#ifndef PARITECT_AGENT_DAEMON_IDLE_MEMORY_H_
#define PARITECT_AGENT_DAEMON_IDLE_MEMORY_H_

namespace paritect {

// Gives free heap back to the kernel, and the pages of program code that are mapped; those that are needed again come
// back from the page cache at the first use, without a read from disk while they are cached. Code is mapped privately
// and never written (no text relocations on this platform), so dropping it loses nothing. Costs about a millisecond.
void ReleaseIdleMemory();

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_IDLE_MEMORY_H_
