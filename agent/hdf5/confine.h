/* What a process that reads a stranger's file gives up. */
#ifndef PARITECT_AGENT_HDF5_CONFINE_H_
#define PARITECT_AGENT_HDF5_CONFINE_H_

/* Memory, processor time, open files and child processes are bounded; no core is written. */
void LimitResources(void);

/* From here on only reading and writing what is open, memory, time and the end are allowed: anything else ends the
 * process. Where the kernel has no seccomp filters, the limits above remain. */
void ForbidSystemCalls(void);

#endif  // PARITECT_AGENT_HDF5_CONFINE_H_
