/// The file of an FMU (.fmu, a zip archive), unpacked into a separate folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace heelstrike::mbs {

class FmuArchive {
 public:
  /// Unpacks the description, the resources and the binaries for this platform into a new folder that is accessible to
  /// this user only; the destructor removes it.
  /// @param content  of the file. @param where  key of the scenario, for messages
  /// @throws Error{invalid_input} if it is no archive, has no modelDescription.xml, is damaged, has members outside
  /// of itself or a file and a folder of one name, or is larger than max_bytes; Error{file} when nothing can be written
  FmuArchive(const std::string& content, const std::string& where);
  ~FmuArchive();
  FmuArchive(const FmuArchive&) = delete;
  FmuArchive& operator=(const FmuArchive&) = delete;

  /// Text of modelDescription.xml.
  [[nodiscard]] std::string description() const;
  /// @param folder  binary folder of the platform: fmi2_binaries, fmi3_binaries
  /// @throws Error{invalid_input} with a list of the available platforms, also for a library of another processor
  [[nodiscard]] std::filesystem::path binary(const std::string& folder, const std::string& model_identifier) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Declared external dependencies (documentation/externalDependencies.txt); empty = none declared.
  [[nodiscard]] std::string dependencies() const;
  /// Folder of the resources; empty = the FMU has none.
  [[nodiscard]] std::filesystem::path resources() const;

  /// [B] limit of the unpacked size, so that a small file cannot fill the disk.
  static constexpr std::uint64_t max_bytes = std::uint64_t{2} << 30U;

 private:
  void unpack(const std::string& content);

  std::string where_;
  std::filesystem::path folder_;
  std::string platforms_;  ///< that have binaries, for the message that none fits
};

}  // namespace heelstrike::mbs
