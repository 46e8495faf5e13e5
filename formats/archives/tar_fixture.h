// For tests: members of tar archives, made in memory. An archive ends with 1024 zeros.
#ifndef PARITECT_FORMATS_ARCHIVES_TAR_FIXTURE_H_
#define PARITECT_FORMATS_ARCHIVES_TAR_FIXTURE_H_

#include <string>

namespace paritect {

inline std::string TarHeader(const std::string& name, std::size_t size, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(100, 7, "0000644");
  std::string octal;
  for (std::size_t rest = size; rest > 0; rest /= 8) octal.insert(octal.begin(), static_cast<char>('0' + rest % 8));
  block.replace(124, 11, std::string(11 - octal.size(), '0') + octal);
  block[156] = type;
  block.replace(257, 6, std::string("ustar\0", 6));
  block.replace(148, 8, std::string(8, ' '));
  unsigned sum = 0;
  for (char c : block) sum += static_cast<unsigned char>(c);
  std::string check;
  for (int i = 0; i < 6; ++i, sum /= 8) check.insert(check.begin(), static_cast<char>('0' + sum % 8));
  block.replace(148, 7, check + '\0');
  return block;
}

// Header and data, padded.
inline std::string TarFile(const std::string& name, const std::string& data, char type = '0') {
  std::string out = TarHeader(name, data.size(), type) + data;
  out.resize((out.size() + 511) / 512 * 512);
  return out;
}

}  // namespace paritect

#endif  // PARITECT_FORMATS_ARCHIVES_TAR_FIXTURE_H_
