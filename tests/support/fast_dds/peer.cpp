// A client of the served PSM1 on Debian's Fast DDS and Fast CDR alone: reads its joints and its operating state, sends
// samples that are no messages, moves its first joint by servo_jp, and prints what it saw as one line of JSON.
//
//   peer DOMAIN STEP      STEP: change of the first joint [rad]

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>

namespace fast = eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;
using Bytes = std::vector<char>;

constexpr uint32_t kLongest = 1 << 16;
constexpr int kParticipants = 8;  // of the domain that are asked directly: the loopback interface has no multicast
constexpr auto kPatience = std::chrono::seconds(20);

// Samples as the bytes they are, the header of the encoding included.
class RawType : public fast::TopicDataType {
 public:
  explicit RawType(const std::string& name) {
    setName(name.c_str());
    m_typeSize = kLongest;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, rtps::SerializedPayload_t* payload) override {
    const auto& bytes = *static_cast<Bytes*>(data);
    std::memcpy(payload->data, bytes.data(), bytes.size());
    payload->length = static_cast<uint32_t>(bytes.size());
    payload->encapsulation = CDR_LE;
    return true;
  }
  bool deserialize(rtps::SerializedPayload_t* payload, void* data) override {
    const char* begin = reinterpret_cast<const char*>(payload->data);
    static_cast<Bytes*>(data)->assign(begin, begin + payload->length);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
    return [data] { return static_cast<uint32_t>(static_cast<Bytes*>(data)->size()); };
  }
  void* createData() override { return new Bytes; }
  void deleteData(void* data) override { delete static_cast<Bytes*>(data); }
  bool getKey(void*, rtps::InstanceHandle_t*, bool) override { return false; }
};

struct JointState {
  int32_t seconds = 0;
  uint32_t nanoseconds = 0;
  std::string frame;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;

  void read(Bytes& bytes) {
    eprosima::fastcdr::FastBuffer buffer(bytes.data(), bytes.size());
    eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN, eprosima::fastcdr::Cdr::DDS_CDR);
    cdr.read_encapsulation();
    cdr >> seconds >> nanoseconds >> frame >> name >> position >> velocity >> effort;
  }
  Bytes written() const {
    Bytes bytes(kLongest);
    eprosima::fastcdr::FastBuffer buffer(bytes.data(), bytes.size());
    eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN, eprosima::fastcdr::Cdr::DDS_CDR);
    cdr.serialize_encapsulation();
    cdr << seconds << nanoseconds << frame << name << position << velocity << effort;
    bytes.resize(cdr.getSerializedDataLength());
    return bytes;
  }
};

std::string state_of(Bytes& bytes) {
  eprosima::fastcdr::FastBuffer buffer(bytes.data(), bytes.size());
  eprosima::fastcdr::Cdr cdr(buffer, eprosima::fastcdr::Cdr::DEFAULT_ENDIAN, eprosima::fastcdr::Cdr::DDS_CDR);
  int32_t seconds;
  uint32_t nanoseconds;
  std::string frame, state;
  cdr.read_encapsulation();
  cdr >> seconds >> nanoseconds >> frame >> state;
  return state;
}

class Peer {
 public:
  explicit Peer(int domain) {
    fast::DomainParticipantQos qos;
    auto transport = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    transport->interfaceWhiteList.push_back("127.0.0.1");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(transport);
    for (int index = 0; index < kParticipants; ++index) {
      rtps::Locator_t locator;
      locator.kind = LOCATOR_KIND_UDPv4;
      rtps::IPLocator::setIPv4(locator, 127, 0, 0, 1);
      locator.port = 7400 + 250 * domain + 10 + 2 * index;
      qos.wire_protocol().builtin.initialPeersList.push_back(locator);
    }
    participant_ = fast::DomainParticipantFactory::get_instance()->create_participant(domain, qos);
    publisher_ = participant_->create_publisher(fast::PUBLISHER_QOS_DEFAULT);
    subscriber_ = participant_->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT);
  }
  fast::DataReader* reader(const std::string& name, const std::string& type, bool kept) {
    fast::DataReaderQos qos = fast::DATAREADER_QOS_DEFAULT;
    qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
    qos.durability().kind = kept ? fast::TRANSIENT_LOCAL_DURABILITY_QOS : fast::VOLATILE_DURABILITY_QOS;
    return subscriber_->create_datareader(topic(name, type), qos);
  }
  fast::DataWriter* writer(const std::string& name, const std::string& type) {
    fast::DataWriterQos qos = fast::DATAWRITER_QOS_DEFAULT;
    qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
    qos.durability().kind = fast::VOLATILE_DURABILITY_QOS;
    return publisher_->create_datawriter(topic(name, type), qos);
  }

 private:
  fast::Topic* topic(const std::string& name, const std::string& type) {
    fast::TypeSupport support(new RawType(type));
    support.register_type(participant_);
    return participant_->create_topic(name, type, fast::TOPIC_QOS_DEFAULT);
  }
  fast::DomainParticipant* participant_;
  fast::Publisher* publisher_;
  fast::Subscriber* subscriber_;
};

// The next sample of a reader; an empty one after the patience.
Bytes next(fast::DataReader* reader) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Bytes bytes;
  fast::SampleInfo info;
  while (std::chrono::steady_clock::now() < deadline) {
    if (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
      if (info.valid_data) return bytes;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return {};
}

template <typename T>
std::string listed(const std::vector<T>& values) {
  std::ostringstream out;
  out.precision(17);
  for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  return "[" + out.str() + "]";
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string joints = "sensor_msgs::msg::dds_::JointState_";
  Peer peer(std::stoi(argv[1]));
  auto* measured = peer.reader("rt/PSM1/measured_js", joints, false);
  auto* setpoint = peer.reader("rt/PSM1/setpoint_js", joints, false);
  auto* operating = peer.reader("rt/PSM1/operating_state", "crtk_msgs::msg::dds_::OperatingState_", true);
  auto* servo = peer.writer("rt/PSM1/servo_jp", joints);

  Bytes bytes = next(operating);
  if (bytes.empty()) return 3;
  const std::string state = state_of(bytes);
  JointState first, now;
  bytes = next(measured);
  if (bytes.empty()) return 4;
  first.read(bytes);
  bytes = next(setpoint);
  if (bytes.empty()) return 5;
  now.read(bytes);

  fast::PublicationMatchedStatus matched;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (servo->get_publication_matched_status(matched), matched.current_count == 0) {
    if (std::chrono::steady_clock::now() > deadline) return 6;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Samples that are no messages: cut, of a length that is not there, of another encoding, and a long one of zeros.
  JointState command;
  command.position = now.position;
  command.position[0] += std::stod(argv[2]);
  Bytes cut = command.written();
  cut.resize(cut.size() / 2);
  Bytes lying = command.written();
  std::memset(lying.data() + 12, 0x7f, 4);
  Bytes other = command.written();
  other[1] = 9;
  Bytes zeros(kLongest - 64, 0);
  zeros[1] = 1;
  for (Bytes* bad : {&cut, &lying, &other, &zeros})
    for (int i = 0; i < 20; ++i) servo->write(bad);

  Bytes good = command.written();
  servo->write(&good);
  int samples = 0;
  bool reached = false;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!reached && std::chrono::steady_clock::now() < end) {
    bytes = next(setpoint);
    if (bytes.empty()) return 7;
    now.read(bytes);
    ++samples;
    reached = std::abs(now.position[0] - command.position[0]) < 1e-12;
  }
  std::vector<std::string> quoted;
  for (const auto& name : first.name) quoted.push_back("\"" + name + "\"");
  std::cout << "{\"state\": \"" << state << "\", \"frame\": \"" << first.frame << "\", \"names\": " << listed(quoted)
            << ", \"velocities\": " << first.velocity.size() << ", \"efforts\": " << first.effort.size()
            << ", \"commanded\": " << listed(command.position) << ", \"setpoint\": " << listed(now.position)
            << ", \"samples\": " << samples << ", \"reached\": " << (reached ? "true" : "false") << "}" << std::endl;
  std::_Exit(0);
}
