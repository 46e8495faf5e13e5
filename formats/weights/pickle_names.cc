#include "formats/weights/pickle_names.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace paritect {
namespace {

// Modules, classes and functions of modules. The first four are PyTorch's own list (torch/_weights_only_unpickler.py,
// _blocklisted_modules); the others are those of the published samples of hostile pickles (picklescan's advisories).
constexpr absl::string_view kActing =
    "sys os posix nt subprocess runpy pty socket shutil importlib ctypes code codeop commands pickle _pickle "
    "cPickle marshal operator _operator timeit pdb bdb asyncio webbrowser urllib urllib2 requests http httplib "
    "ftplib smtplib telnetlib ssl tempfile multiprocessing threading _thread signal platform pip setuptools "
    "distutils venv ensurepip idlelib cProfile profile trace doctest unittest pydoc inspect gc linecache logging "
    "dill cloudpickle joblib builtins.eval builtins.exec builtins.open builtins.compile builtins.__import__ "
    "builtins.input builtins.breakpoint builtins.setattr builtins.globals builtins.vars builtins.apply "
    "builtins.execfile builtins.file builtins.map builtins.filter builtins.delattr builtins.help torch.hub "
    "torch.load torch.serialization.load torch.jit torch.package torch.utils.cpp_extension "
    "torch.utils.collect_env torch._dynamo torch._inductor numpy.load numpy.testing numpy.f2py numpy.distutils "
    "types.CodeType types.FunctionType torch.distributed.elastic torch.distributed.launch "
    "torch.distributed.launcher torch.distributed.rpc torch.distributed.run torch.multiprocessing "
    "torch.utils.bottleneck ";

// Python's own library: sys.stdlib_module_names of 3.11, what came later, and Python 2's.
constexpr absl::string_view kStandardModules =
    "BaseHTTPServer CGIHTTPServer ConfigParser Cookie HTMLParser Queue SimpleHTTPServer SimpleXMLRPCServer "
    "SocketServer StringIO UserDict UserList UserString __future__ _abc _aix_support _ast _asyncio _bisect "
    "_blake2 _bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw "
    "_collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes _curses "
    "_curses_panel _datetime _dbm _decimal _elementtree _frozen_importlib _frozen_importlib_external _functools "
    "_gdbm _hashlib _heapq _imp _interpreters _io _ios_support _json _locale _lsprof _lzma _markupbase _md5 _msi "
    "_multibytecodec _multiprocessing _opcode _operator _osx_support _overlapped _pickle _posixshmem "
    "_posixsubprocess _py_abc _pydecimal _pyio _pylong _pyrepl _queue _random _scproxy _sha1 _sha256 _sha3 "
    "_sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct "
    "_symtable _sysconfig _thread _threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings "
    "_weakref _weakrefset _winapi _zoneinfo abc aifc annotationlib antigravity anydbm argparse array ast asynchat "
    "asyncio asyncore atexit audioop base64 bdb binascii bisect bsddb builtins bz2 cPickle cProfile cStringIO "
    "calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys commands compileall compiler "
    "compression concurrent configparser contextlib contextvars cookielib copy copy_reg copyreg crypt csv ctypes "
    "curses dataclasses datetime dbhash dbm decimal difflib dis distutils doctest dumbdbm dummy_thread email "
    "encodings ensurepip enum errno exceptions faulthandler fcntl filecmp fileinput fnmatch fractions ftplib "
    "functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac hotshot html "
    "htmlentitydefs http httplib idlelib ihooks imaplib imghdr imp importlib imputil inspect io ipaddress "
    "itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math md5 mimetools "
    "mimetypes mmap modulefinder msilib msvcrt multiprocessing mutex netrc new nis nntplib nt ntpath nturl2path "
    "numbers opcode operator optparse os os2emxpath ossaudiodev pathlib pdb pickle pickletools pipes pkgutil "
    "platform plistlib popen2 poplib posix posixfile posixpath pprint profile pstats pty pwd py_compile pyclbr "
    "pydoc pydoc_data pyexpat queue quopri random re readline repr reprlib resource rexec rfc822 rlcompleter "
    "robotparser runpy sched secrets select selectors sets sha shelve shlex shutil signal site smtpd smtplib "
    "sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string "
    "stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios "
    "test textwrap this thread threading time timeit tkMessageBox tkinter token tokenize tomllib trace traceback "
    "tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib urllib2 urlparse user uu uuid "
    "venv warnings wave weakref webbrowser whichdb winreg winsound wsgiref xdrlib xml xmlrpc xmlrpclib zipapp "
    "zipfile zipimport zlib zoneinfo ";

// Of it, what makes a value and does nothing else.
constexpr absl::string_view kStandardValues =
    "UserDict.UserDict UserList.UserList _codecs.encode _io.BytesIO _io.StringIO argparse.Namespace "
    "array._array_reconstructor array.array builtins.bool builtins.bytearray builtins.bytes builtins.complex "
    "builtins.dict builtins.enumerate builtins.float builtins.frozenset builtins.int builtins.list builtins.long "
    "builtins.object builtins.range builtins.reversed builtins.set builtins.slice builtins.str builtins.tuple "
    "builtins.type builtins.unicode builtins.xrange builtins.zip collections.ChainMap collections.Counter "
    "collections.OrderedDict collections.UserDict collections.UserList collections.UserString "
    "collections.defaultdict collections.deque configparser.BasicInterpolation configparser.ConfigParser "
    "configparser.ConverterMapping configparser.ExtendedInterpolation configparser.Interpolation "
    "configparser.LegacyInterpolation configparser.RawConfigParser configparser.SafeConfigParser "
    "configparser.SectionProxy copyreg.__newobj__ copyreg.__newobj_ex__ copyreg._reconstructor dataclasses.Field "
    "dataclasses._HAS_DEFAULT_FACTORY_CLASS dataclasses._MISSING_TYPE datetime.date datetime.datetime "
    "datetime.time datetime.timedelta datetime.timezone decimal.Context decimal.Decimal fractions.Fraction "
    "functools.partial io.BytesIO io.StringIO ipaddress.IPv4Address ipaddress.IPv6Address itertools.chain "
    "itertools.count itertools.cycle itertools.islice itertools.repeat logging.getLogger pathlib.Path "
    "pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath pathlib.PureWindowsPath pathlib.WindowsPath "
    "pathlib._local.Path pathlib._local.PosixPath pathlib._local.PurePath pathlib._local.PurePosixPath "
    "pathlib._local.PureWindowsPath pathlib._local.WindowsPath random.Random re._compile string.Template "
    "time.struct_time types.SimpleNamespace uuid.SafeUUID uuid.UUID zoneinfo.ZoneInfo zoneinfo.ZoneInfo._unpickle ";

// Functions of other code that checkpoints call, by the name's beginning.
constexpr absl::string_view kKnownFunctions[] = {
    "torch._utils._rebuild_",
    "torch._tensor._rebuild_",
    "torch.device",
    "torch.dtype",
    "torch.nn.parameter._rebuild_",
    "torch.serialization._get_layout",
    "torch.storage._load_from_bytes",
    "torch.distributed.",
    "torch_npu.",
    "numpy.core.multiarray._reconstruct",
    "numpy.core.multiarray.scalar",
    "numpy.core.numeric._frombuffer",
    "numpy.dtype",
    "numpy.ndarray",
    "numpy.random._pickle.__",
    "ml_dtypes.",
    "easydict.",
};

using Words = absl::flat_hash_set<absl::string_view>;

Words WordsOf(absl::string_view list) {
  return absl::StrSplit(list, ' ', absl::SkipEmpty());
}

absl::string_view LastPart(absl::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

bool IsKnownFunction(absl::string_view name) {
  return std::any_of(std::begin(kKnownFunctions), std::end(kKnownFunctions),
                     [&](absl::string_view known) { return absl::StartsWith(name, known); });
}

}  // namespace

bool IsActingName(absl::string_view name) {
  static const Words* const acting = new Words(WordsOf(kActing));
  static const Words* const values = new Words(WordsOf(kStandardValues));
  if (values->contains(name)) return false;
  // The name itself, or any module or class that it stands in.
  for (std::size_t end = name.find('.'); end != absl::string_view::npos; end = name.find('.', end + 1)) {
    if (acting->contains(name.substr(0, end))) return true;
  }
  return acting->contains(name);
}

bool MayBeCalled(absl::string_view name) {
  static const Words* const modules = new Words(WordsOf(kStandardModules));
  static const Words* const values = new Words(WordsOf(kStandardValues));
  const absl::string_view module = name.substr(0, name.find('.'));
  if (!modules->contains(module)) return IsClassName(name) || IsKnownFunction(name);
  if (values->contains(name)) return true;
  // Exceptions, which are the classes of these that begin with a capital.
  return (module == "builtins" || module == "exceptions") && IsClassName(name);
}

bool IsClassName(absl::string_view name) {
  absl::string_view last = LastPart(name);
  while (!last.empty() && last[0] == '_') last.remove_prefix(1);
  return !last.empty() && absl::ascii_isupper(static_cast<unsigned char>(last[0]));
}

}  // namespace paritect
