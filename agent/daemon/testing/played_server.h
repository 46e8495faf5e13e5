// A server for tests of the agent as a whole: real TLS, real gRPC, records in memory. It keeps what a server promises
// (durable in the order of the numbers, each once) and notes what an agent does wrong.
#ifndef PARITECT_AGENT_DAEMON_TESTING_PLAYED_SERVER_H_
#define PARITECT_AGENT_DAEMON_TESTING_PLAYED_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/credential.h"
#include "paritect/v1/fleet.pb.h"

namespace paritect {

class PlayedServer {
 public:
  PlayedServer();
  ~PlayedServer();
  PlayedServer(const PlayedServer&) = delete;
  PlayedServer& operator=(const PlayedServer&) = delete;

  std::string address() const;  // "127.0.0.1:PORT", the same after Restart
  std::string pin() const;
  std::string NewToken();  // one use
  Credential Admin() const;
  void SetLifetime(std::int64_t seconds);  // of the certificates to come

  // What a node delivered: (epoch, sequence) -> record; gaps are counted as delivered without a record.
  struct Node {
    std::map<std::pair<std::uint64_t, std::uint64_t>, v1::Record> records;
    std::map<std::uint64_t, std::uint64_t> durable;  // by epoch
    std::vector<std::string> gaps;                   // "FIRST-LAST:REASON"
    std::vector<v1::Hello> hellos;
    std::vector<v1::TaskProgress> progress;
    int sessions = 0;
    int renewals = 0;
    bool connected = false;
  };
  Node node(const std::string& name) const;
  // Records that came again and were another, holes that were not asked for: an agent must never cause one.
  std::vector<std::string> faults() const;

  void AddTask(const std::string& node, const v1::Task& task);  // sent now or at the next connection, until it ended
  void Cancel(const std::string& node, const std::string& task_id);
  void Revoke(const std::string& node);
  // Acknowledgements wait meanwhile; what comes is not durable.
  void HoldBack(bool hold);
  void Stop();     // at once, as a kill
  void Restart();  // with what was durable

  // Waits until `done` of the node holds. False: the time is over.
  bool WaitFor(const std::string& node, absl::Duration time, bool (*done)(const Node&)) const;
  // The TaskEnds of a task, in order.
  std::vector<v1::TaskEnd> Ends(const std::string& node, const std::string& task_id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paritect

#endif  // PARITECT_AGENT_DAEMON_TESTING_PLAYED_SERVER_H_
