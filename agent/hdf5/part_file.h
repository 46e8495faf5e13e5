/* A driver of libhdf5 that reads a range of an open descriptor, and nothing else: a file that stands within another one
 * (model.weights.h5 in a .keras archive) is read where it stands, and no path is ever opened. */
#ifndef PARITECT_AGENT_HDF5_PART_FILE_H_
#define PARITECT_AGENT_HDF5_PART_FILE_H_

#include <hdf5.h>
#include <stdint.h>

/* File access properties for the `size` bytes at `offset` of `descriptor`; below 0: an error. One file may be opened by
 * them: whatever the library wants to open after it (what an external link names) is not there. */
hid_t AccessToPart(int descriptor, uint64_t offset, uint64_t size);

#endif /* PARITECT_AGENT_HDF5_PART_FILE_H_ */
