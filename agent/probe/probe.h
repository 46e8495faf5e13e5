/* paritect-probe: asks a vendor's management library what devices there are. A program of its own because such a
 * library can hang, crash or print; who starts it sets a time limit. Plain C, old glibc symbols only.
 *
 * Output: lines "KEY<TAB>VALUE", printable ASCII. "device<TAB>N" begins a device; "error<TAB>TEXT" says what the
 * library refused; the last line is "end". An output without it is not whole.
 */
#ifndef PARITECT_AGENT_PROBE_PROBE_H_
#define PARITECT_AGENT_PROBE_PROBE_H_

#define PROBE_DEVICES_MAX 256
#define PROBE_PROCESSES_MAX 256
#define PROBE_TEXT_MAX 256
#define PROBE_STRUCT_BYTES 1024 /* more than any structure a later library may fill */

/* One line; what is not printable ASCII in `value` becomes '?'. */
void probe_say(const char* key, const char* value);
void probe_say_number(const char* key, unsigned long long value);
/* "error<TAB>FUNCTION: TEXT (CODE)"; `text` may be null. */
void probe_refused(const char* function, const char* text, long code);

/* The function, or null. `names`: newest first, ended by null. */
void* probe_find(void* library, const char* const* names);

/* Ask an open library. 0: it answered. */
int probe_nvml(void* library);
int probe_dcmi(void* library);

#endif /* PARITECT_AGENT_PROBE_PROBE_H_ */
