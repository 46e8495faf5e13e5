#include "common/net/client_hello.h"

#include "common/net/tls_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paritect {
namespace {

using Kind = PeekedHello::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What OpenSSL sends first.
std::string Hello(const std::string& offer) {
  const auto context = *NewClientContext();
  const openssl::UniqueSsl ssl(SSL_new(context.get()));
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(ssl.get());
  SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                      static_cast<unsigned>(offer.size()));
  SSL_do_handshake(ssl.get());
  openssl::TakeError();
  return openssl::BioText(out);
}

// The same in records of `size` bytes.
std::string Split(const std::string& hello, std::size_t size) {
  std::string out;
  for (std::size_t at = 5; at < hello.size(); at += size) {
    const std::string piece = hello.substr(at, size);
    out += hello.substr(0, 3) + static_cast<char>(piece.size() >> 8) + static_cast<char>(piece.size()) + piece;
  }
  return out;
}

TEST(ClientHello, TellsTheProtocolsThatAreOffered) {
  const PeekedHello both = PeekHello(Hello("\x02h2\x10paritect-enrol/1"));
  EXPECT_EQ(both.kind, Kind::kWhole);
  EXPECT_THAT(both.protocols, ElementsAre("h2", "paritect-enrol/1"));
  EXPECT_TRUE(both.Offers("h2"));
  EXPECT_FALSE(both.Offers("h"));
  const PeekedHello none = PeekHello(Hello(""));
  EXPECT_EQ(none.kind, Kind::kWhole);
  EXPECT_THAT(none.protocols, IsEmpty());
}

TEST(ClientHello, EveryBeginningIsPartialAndSplitRecordsAreJoined) {
  const std::string hello = Hello("\x02h2");
  for (std::size_t size = 0; size < hello.size(); ++size) {
    EXPECT_EQ(PeekHello(hello.substr(0, size)).kind, Kind::kPartial) << size;
  }
  for (const std::size_t size : {1, 3, 100}) {
    EXPECT_THAT(PeekHello(Split(hello, size)).protocols, ElementsAre("h2")) << size;
  }
}

TEST(ClientHello, WhatIsNoTlsIsToldByItsFirstBytes) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string("PRI * HTTP/2.0"), std::string("\x16\x02"),
        std::string("\x16\x03\x01\x00\x00", 5), std::string("\x16\x03\x01\xff\xff", 5),
        std::string("\x16\x03\x01\x00\x01\x02", 6)}) {
    EXPECT_EQ(PeekHello(bytes).kind, Kind::kOther) << bytes;
  }
}

TEST(ClientHello, AHelloWithoutEndIsNoHello) {
  const std::string record = std::string("\x16\x03\x01\x00\x04\x01\x00\x3f\xff", 9);
  EXPECT_EQ(PeekHello(record).kind, Kind::kOther) << "the length alone is too much";
  std::string drip = std::string("\x16\x03\x01\x00\x04\x01\x00\x2f\xff", 9);
  while (drip.size() < kHelloBytesMax) drip += std::string("\x16\x03\x01\x00\x01\x00", 6);
  EXPECT_EQ(PeekHello(drip).kind, Kind::kOther);
}

}  // namespace
}  // namespace paritect
