#include "formats/weights/pickle_names.h"

#include <gtest/gtest.h>

namespace paritect {
namespace {

TEST(PickleNames, WhatActsOnTheMachineIsNamedByNoCheckpoint) {
  for (const char* name : {"os.system", "posix.system", "subprocess.Popen", "builtins.eval", "torch.load",
                           "torch.distributed.elastic.multiprocessing.api.SubprocessContext", "logging.FileHandler"}) {
    EXPECT_TRUE(IsActingName(name)) << name;
  }
  for (const char* name : {"osprey.Config", "torch.loader.x", "mycode.utils.os.Thing", "logging.getLogger"}) {
    EXPECT_FALSE(IsActingName(name)) << name;
  }
}

// A class of Python's library may act when it is made (a connection, a file), and a method of a harmless one too.
TEST(PickleNames, OfPythonsOwnLibraryOnlyValuesAreMade) {
  for (const char* name : {"imaplib.IMAP4_stream", "_io.FileIO", "pathlib.Path.unlink", "uuid._get_command_stdout",
                           "zipfile.ZipFile", "sqlite3.Connection", "datetime.datetime.now", "httplib.HTTPSConnection",
                           "builtins.getattr", "builtins.print", "collections.namedtuple", "test.support.Run"}) {
    EXPECT_FALSE(MayBeCalled(name)) << name;
  }
  for (const char* name : {"collections.OrderedDict", "datetime.timedelta", "pathlib.PosixPath", "builtins.xrange",
                           "argparse.Namespace", "uuid.UUID", "builtins.ValueError", "exceptions.KeyError",
                           "random.Random", "logging.getLogger", "copyreg._reconstructor"}) {
    EXPECT_TRUE(MayBeCalled(name)) << name;
  }
}

TEST(PickleNames, OfOtherCodeClassesAndKnownFunctionsAreCalled) {
  for (const char* name : {"my.project.Config", "torch._utils._rebuild_tensor_v2", "numpy.dtype", "torch.Size",
                           "torch.serialization._get_layout", "__main__.Arguments"}) {
    EXPECT_TRUE(MayBeCalled(name)) << name;
  }
  for (const char* name : {"my.project.run", "torch.compile", "numpy.fromfile"})
    EXPECT_FALSE(MayBeCalled(name)) << name;
}

}  // namespace
}  // namespace paritect
