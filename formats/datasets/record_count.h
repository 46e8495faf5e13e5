// Counts the records of a data file and follows its framing: lengths, checksums, ends. No I/O of its own.
//
// Recognised by content: TFRecord, RecordIO (MXNet), JSON Lines, CSV/TSV, tar (WebDataset), ZIP/npz, gzip (with any
// forward form inside), Parquet, Arrow file and stream (Feather v2), Megatron .idx with its .bin, MindRecord, LMDB,
// npy, HDF5; images, sound and plain text as "single": one file, no records. Sources: the formats' own specifications,
// named in each file of records/.
#ifndef PARITECT_FORMATS_DATASETS_RECORD_COUNT_H_
#define PARITECT_FORMATS_DATASETS_RECORD_COUNT_H_

#include "formats/datasets/records/record_form.h"
#include "paritect/v1/dataset.pb.h"

namespace paritect {

struct RecordLimits {
  std::uint64_t bytes_max = std::uint64_t{1} << 30;  // read of one file
};

// Fills `entry`'s record_look, and records where the form has any. `read_at` reads the file that `entry` names, of
// entry.size_bytes() bytes. Returns the number of bytes read.
std::uint64_t CountRecords(const RecordReader::ReadAt& read_at, const SizeOfFile& size_of, const RecordLimits& limits,
                           v1::FileEntry& entry);

}  // namespace paritect

#endif  // PARITECT_FORMATS_DATASETS_RECORD_COUNT_H_
