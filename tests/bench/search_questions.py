"""Questions as people type them, with the pages that answer them, for six manuals.

Laws: all questions were written from memory of the manuals, before anyone saw a result, and no
weight is fitted to them. To tune the ranking, look only at the misses of `QUESTIONS`, `TRIED` and
`JAVA_AND_BOOST`, and report `HELD_BACK` and `ASKED_ONCE`, too. Questions about manuals that the
store does not have are left out.

`python -m tests.bench.search_questions --store FILE` asks all questions in the store that
`python -m tests.bench.search --store FILE` has made. A page is an answer if it would satisfy the
person who asks; a question may have several. Then the command asks all questions again with two
letters of the longest word swapped, a common typing error.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.report.snapshot import snapshot
from minicrawl.search.importance_file import keep_importance
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.store.reader import search_folder
from tests.bench.notes import circumstances, head, row

TOP = 3
_SHOWN = 10


class Question(NamedTuple):
    """Question, its manual, and the pages of the manual that answer it."""

    words: str
    manual: str
    pages: tuple[str, ...]


_JAVA = "java.base/java/"
# ruff: noqa: E501
QUESTIONS = (
    Question("python read csv file", "python", ("library/csv.html",)),
    Question("format date as string python", "python", ("library/datetime.html", "library/time.html")),
    Question("sort list of dictionaries by key", "python", ("howto/sorting.html",)),
    Question("run subprocess and capture output", "python", ("library/subprocess.html",)),
    Question("python virtual environments", "python", ("library/venv.html", "tutorial/venv.html")),
    Question("python parse command line arguments", "python", ("library/argparse.html", "howto/argparse.html")),
    Question("python named groups in regular expressions", "python", ("library/re.html", "howto/regex.html")),
    Question("create index without locking table", "postgresql", ("sql-createindex.html",)),
    Question("postgres backup single database", "postgresql", ("app-pgdump.html", "backup-dump.html")),
    Question("postgres max connections", "postgresql", ("runtime-config-connection.html",)),
    Question("grant select on all tables in schema", "postgresql", ("sql-grant.html",)),
    Question("postgres insert on conflict update", "postgresql", ("sql-insert.html",)),
    Question("postgres json operators", "postgresql", ("functions-json.html",)),
    Question("point in time recovery", "postgresql", ("continuous-archiving.html",)),
    Question("autovacuum settings", "postgresql", ("runtime-config-autovacuum.html", "routine-vacuuming.html")),
    Question("sqlite wal mode", "sqlite", ("wal.html",)),
    Question("sqlite full text search", "sqlite", ("fts5.html", "fts3.html")),
    Question("sqlite enable foreign keys", "sqlite", ("foreignkeys.html",)),
    Question("sqlite maximum database size", "sqlite", ("limits.html",)),
    Question("sqlite backup of a running database", "sqlite", ("backup.html",)),
    Question("when to use sqlite", "sqlite", ("whentouse.html",)),
    Question("undo last commit", "git", ("git-reset.html", "git-revert.html")),
    Question("git stash changes", "git", ("git-stash.html",)),
    Question("git squash commits interactive rebase", "git", ("git-rebase.html",)),
    Question("find the commit that introduced a bug", "git", ("git-bisect.html", "git-bisect-lk2009.html")),
    Question("git ignore files", "git", ("gitignore.html",)),
    Question("remove file from git but keep it on disk", "git", ("git-rm.html",)),
    Question("who changed this line git", "git", ("git-blame.html", "git-annotate.html")),
    Question("java hash map", "java", (f"{_JAVA}util/HashMap.html",)),
    Question("java read file line by line", "java", (f"{_JAVA}io/BufferedReader.html", f"{_JAVA}nio/file/Files.html", f"{_JAVA}io/LineNumberReader.html")),
    Question("java thread pool", "java", (f"{_JAVA}util/concurrent/ThreadPoolExecutor.html", f"{_JAVA}util/concurrent/Executors.html", f"{_JAVA}util/concurrent/ExecutorService.html")),
    Question("java http client request", "java", ("java.net.http/java/net/http/HttpClient.html", "java.net.http/java/net/http/HttpRequest.html")),
)  # fmt: skip
HELD_BACK = (
    Question("python read json file", "python", ("library/json.html", "tutorial/inputoutput.html")),
    Question("python unit test with mock object", "python", ("library/unittest.mock.html", "library/unittest.mock-examples.html")),
    Question("python logging to a file", "python", ("howto/logging.html", "howto/logging-cookbook.html")),
    Question("python list files in a directory", "python", ("library/os.html", "library/pathlib.html", "library/glob.html")),
    Question("fetch url with python", "python", ("library/urllib.request.html", "howto/urllib2.html")),
    Question("python run coroutines concurrently", "python", ("library/asyncio-task.html",)),
    Question("python dictionary with default value", "python", ("library/collections.html", "library/stdtypes.html")),
    Question("postgres create user with password", "postgresql", ("sql-createrole.html", "sql-createuser.html", "app-createuser.html")),
    Question("add column to existing table", "postgresql", ("sql-altertable.html", "ddl-alter.html")),
    Question("why is my query slow explain", "postgresql", ("using-explain.html", "sql-explain.html")),
    Question("postgres concatenate strings", "postgresql", ("functions-string.html",)),
    Question("postgres window functions", "postgresql", ("tutorial-window.html", "functions-window.html")),
    Question("partition large table by date range", "postgresql", ("ddl-partitioning.html",)),
    Question("cancel a running query postgres", "postgresql", ("functions-admin.html",)),
    Question("set up streaming replication standby", "postgresql", ("warm-standby.html",)),
    Question("sqlite date functions", "sqlite", ("lang_datefunc.html",)),
    Question("sqlite auto increment primary key", "sqlite", ("autoinc.html",)),
    Question("sqlite drop column from table", "sqlite", ("lang_altertable.html",)),
    Question("sqlite query json", "sqlite", ("json1.html",)),
    Question("sqlite database in memory", "sqlite", ("inmemorydb.html",)),
    Question("sqlite boolean type", "sqlite", ("datatype3.html",)),
    Question("sqlite import csv file", "sqlite", ("cli.html",)),
    Question("delete remote branch git", "git", ("git-push.html",)),
    Question("git resolve merge conflicts", "git", ("git-merge.html", "git-mergetool.html")),
    Question("change message of last commit", "git", ("git-commit.html",)),
    Question("git copy commit to another branch", "git", ("git-cherry-pick.html",)),
    Question("git clone without history", "git", ("git-clone.html",)),
    Question("git update submodules", "git", ("git-submodule.html",)),
    Question("git show changed files between two commits", "git", ("git-diff.html",)),
    Question("java convert string to int", "java", (f"{_JAVA}lang/Integer.html",)),
    Question("java sort an array", "java", (f"{_JAVA}util/Arrays.html",)),
    Question("java parse date", "java", (f"{_JAVA}time/format/DateTimeFormatter.html", f"{_JAVA}time/LocalDate.html", f"{_JAVA}text/SimpleDateFormat.html", f"{_JAVA}text/DateFormat.html")),
)  # fmt: skip

TRIED = (
    Question("python remove duplicates from list", "python", ("tutorial/datastructures.html", "faq/programming.html", "library/stdtypes.html")),
    Question("python copy directory tree", "python", ("library/shutil.html",)),
    Question("create temporary file python", "python", ("library/tempfile.html",)),
    Question("python generate random password", "python", ("library/secrets.html",)),
    Question("python send email with attachment", "python", ("library/email.examples.html", "library/smtplib.html")),
    Question("python measure execution time of small code", "python", ("library/timeit.html",)),
    Question("how to profile a slow python program", "python", ("library/profile.html",)),
    Question("python zip files compress folder", "python", ("library/zipfile.html", "library/shutil.html", "library/zlib.html")),
    Question("convert timezone python", "python", ("library/zoneinfo.html", "library/datetime.html")),
    Question("python thread lock example", "python", ("library/threading.html",)),
    Question("python multiprocessing pool map", "python", ("library/multiprocessing.html", "library/concurrent.futures.html")),
    Question("parse xml in python", "python", ("library/xml.etree.elementtree.html", "library/xml.html")),
    Question("python debugger set breakpoint", "python", ("library/pdb.html",)),
    Question("python cache function results", "python", ("library/functools.html", "faq/programming.html")),
    Question("write own context manager", "python", ("library/contextlib.html", "reference/datamodel.html")),
    Question("python hash a file sha256", "python", ("library/hashlib.html",)),
    Question("python read ini config file", "python", ("library/configparser.html",)),
    Question("python regex replace text", "python", ("library/re.html", "howto/regex.html")),
    Question("what is a descriptor python", "python", ("howto/descriptor.html",)),
    Question("python priority queue", "python", ("library/heapq.html", "library/queue.html")),
    Question("python exceptions catch multiple", "python", ("tutorial/errors.html", "reference/compound_stmts.html")),
    Question("python simple web server command line", "python", ("library/http.server.html",)),
    Question("python permutations combinations of list", "python", ("library/itertools.html",)),
    Question("python string padding format alignment", "python", ("library/string.html", "tutorial/inputoutput.html", "library/stdtypes.html", "reference/lexical_analysis.html")),
    Question("restore postgres dump", "postgresql", ("app-pgrestore.html", "backup-dump.html")),
    Question("change postgres user password", "postgresql", ("sql-alterrole.html", "sql-alteruser.html")),
    Question("drop all objects owned by role", "postgresql", ("sql-drop-owned.html", "role-removal.html")),
    Question("allow remote connections pg_hba", "postgresql", ("auth-pg-hba-conf.html", "runtime-config-connection.html")),
    Question("see running queries postgres", "postgresql", ("monitoring-stats.html", "monitoring.html")),
    Question("postgres recursive query tree", "postgresql", ("queries-with.html",)),
    Question("postgres load csv into table", "postgresql", ("sql-copy.html", "populate.html")),
    Question("compare dates interval arithmetic postgres", "postgresql", ("functions-datetime.html",)),
    Question("find size of a table on disk", "postgresql", ("functions-admin.html", "disk-usage.html")),
    Question("unique constraint ignoring case", "postgresql", ("citext.html", "indexes-expressional.html", "indexes-unique.html")),
    Question("fuzzy string matching similarity trigram", "postgresql", ("pgtrgm.html", "fuzzystrmatch.html")),
    Question("postgres deadlock", "postgresql", ("explicit-locking.html", "runtime-config-locks.html")),
    Question("refresh materialized view without blocking reads", "postgresql", ("sql-refreshmaterializedview.html",)),
    Question("postgres ssl certificates setup", "postgresql", ("ssl-tcp.html", "libpq-ssl.html", "auth-cert.html")),
    Question("query another postgres server from sql", "postgresql", ("postgres-fdw.html", "dblink.html", "contrib-dblink-function.html")),
    Question("upgrade to new major version", "postgresql", ("pgupgrade.html", "upgrading.html")),
    Question("run several statements in one transaction rollback", "postgresql", ("tutorial-transactions.html", "sql-rollback.html", "sql-begin.html")),
    Question("restrict rows a user can see", "postgresql", ("ddl-rowsecurity.html", "sql-createpolicy.html")),
    Question("trigger function example plpgsql", "postgresql", ("plpgsql-trigger.html",)),
    Question("auto increment column postgres", "postgresql", ("datatype-numeric.html", "sql-createsequence.html", "sql-createtable.html")),
    Question("rank search results full text", "postgresql", ("textsearch-controls.html",)),
    Question("postgres shared memory how much", "postgresql", ("runtime-config-resource.html", "kernel-resources.html")),
    Question("isolation levels serializable", "postgresql", ("transaction-iso.html",)),
    Question("benchmark postgres", "postgresql", ("pgbench.html",)),
    Question("sqlite rename column", "sqlite", ("lang_altertable.html",)),
    Question("sqlite insert or update if exists", "sqlite", ("lang_upsert.html", "lang_conflict.html", "lang_replace.html", "lang_insert.html")),
    Question("sqlite database is locked error", "sqlite", ("rescode.html", "lockingv3.html", "faq.html", "c3ref/busy_timeout.html")),
    Question("attach two databases sqlite", "sqlite", ("lang_attach.html",)),
    Question("how to shrink sqlite file", "sqlite", ("lang_vacuum.html", "pragma.html")),
    Question("sqlite corruption causes", "sqlite", ("howtocorrupt.html",)),
    Question("recover damaged database", "sqlite", ("recovery.html", "cli.html")),
    Question("can multiple threads use sqlite", "sqlite", ("threadsafe.html", "faq.html")),
    Question("sqlite file format header", "sqlite", ("fileformat2.html", "fileformat.html")),
    Question("sqlite write user defined function in C", "sqlite", ("appfunc.html", "c3ref/create_function.html")),
    Question("see how sqlite executes a query", "sqlite", ("eqp.html", "lang_explain.html")),
    Question("sqlite geographic index", "sqlite", ("rtree.html", "geopoly.html")),
    Question("is sqlite faster than the file system", "sqlite", ("fasterthanfs.html",)),
    Question("sqlite strict column types", "sqlite", ("stricttables.html",)),
    Question("how sqlite is tested", "sqlite", ("testing.html",)),
    Question("sqlite left join subquery syntax", "sqlite", ("lang_select.html",)),
    Question("sqlite prepared statement bind parameters", "sqlite", ("c3ref/bind_blob.html", "c3ref/prepare.html", "cintro.html")),
    Question("create a new branch and switch to it", "git", ("git-switch.html", "git-checkout.html", "git-branch.html")),
    Question("git list tags", "git", ("git-tag.html",)),
    Question("recover lost commit", "git", ("git-reflog.html", "git-fsck.html", "gitfaq.html")),
    Question("git see history of a file renames", "git", ("git-log.html",)),
    Question("remove untracked files", "git", ("git-clean.html",)),
    Question("discard local changes in a file", "git", ("git-restore.html", "git-checkout.html")),
    Question("git set username and email", "git", ("git-config.html", "gittutorial.html", "git-commit.html")),
    Question("sign commits gpg", "git", ("git-commit.html", "git-config.html", "git-tag.html")),
    Question("git search text in all files", "git", ("git-grep.html",)),
    Question("git run script before commit", "git", ("githooks.html",)),
    Question("windows line endings git", "git", ("gitattributes.html", "gitfaq.html", "git-config.html")),
    Question("export repository as zip", "git", ("git-archive.html",)),
    Question("git two working directories same repository", "git", ("git-worktree.html",)),
    Question("git store password", "git", ("git-credential-store.html", "gitcredentials.html", "git-credential-cache.html", "gitfaq.html")),
    Question("send patches by mail", "git", ("git-send-email.html", "git-format-patch.html")),
    Question("make repository smaller", "git", ("git-gc.html", "git-repack.html", "git-maintenance.html")),
    Question("difference between two branches", "git", ("git-diff.html", "git-log.html", "git-range-diff.html")),
)  # fmt: skip
JAVA_AND_BOOST = (
    Question("java join strings with separator", "java", (f"{_JAVA}lang/String.html", f"{_JAVA}util/StringJoiner.html", f"{_JAVA}util/stream/Collectors.html")),
    Question("java copy a file", "java", (f"{_JAVA}nio/file/Files.html",)),
    Question("group by with streams java", "java", (f"{_JAVA}util/stream/Collectors.html",)),
    Question("java queue that blocks when full", "java", (f"{_JAVA}util/concurrent/BlockingQueue.html", f"{_JAVA}util/concurrent/ArrayBlockingQueue.html", f"{_JAVA}util/concurrent/LinkedBlockingQueue.html")),
    Question("days between two dates java", "java", (f"{_JAVA}time/temporal/ChronoUnit.html", f"{_JAVA}time/Period.html", f"{_JAVA}time/LocalDate.html")),
    Question("java regular expression syntax", "java", (f"{_JAVA}util/regex/Pattern.html",)),
    Question("run task every few seconds java", "java", (f"{_JAVA}util/concurrent/ScheduledExecutorService.html", f"{_JAVA}util/Timer.html", f"{_JAVA}util/concurrent/ScheduledThreadPoolExecutor.html")),
    Question("java random number generator secure", "java", (f"{_JAVA}security/SecureRandom.html",)),
    Question("hash password message digest java", "java", (f"{_JAVA}security/MessageDigest.html", "java.base/javax/crypto/SecretKeyFactory.html")),
    Question("java linked list", "java", (f"{_JAVA}util/LinkedList.html",)),
    Question("sorted map java", "java", (f"{_JAVA}util/SortedMap.html", f"{_JAVA}util/TreeMap.html")),
    Question("base64 encode java", "java", (f"{_JAVA}util/Base64.html", f"{_JAVA}util/Base64.Encoder.html")),
    Question("java start external process", "java", (f"{_JAVA}lang/ProcessBuilder.html", f"{_JAVA}lang/Process.html", f"{_JAVA}lang/Runtime.html")),
    Question("java optional value", "java", (f"{_JAVA}util/Optional.html",)),
    Question("watch directory for changes java", "java", (f"{_JAVA}nio/file/WatchService.html",)),
    Question("java prepared sql statement parameters", "java", ("java.sql/java/sql/PreparedStatement.html",)),
    Question("read zip archive entries java", "java", (f"{_JAVA}util/zip/ZipFile.html", f"{_JAVA}util/zip/ZipInputStream.html")),
    Question("boost parse command line options", "boost", ("program_options.html", "program_options/tutorial.html", "program_options/overview.html")),
    Question("boost read config file program options", "boost", ("program_options/tutorial.html", "program_options/overview.html", "program_options/howto.html")),
    Question("boost convert string to number", "boost", ("boost_lexical_cast.html", "boost_lexical_cast/examples.html", "boost_lexical_cast/synopsis.html")),
    Question("boost circular buffer", "boost", ("circular_buffer.html",)),
    Question("boost lock free queue", "boost", ("lockfree.html", "boost/lockfree/queue.html", "lockfree/examples.html")),
    Question("shared memory between processes boost", "boost", ("interprocess.html", "interprocess/sharedmemorybetweenprocesses.html", "interprocess/quick_guide.html")),
    Question("boost trim whitespace from string", "boost", ("string_algo/usage.html", "string_algo/quickref.html", "boost/algorithm/trim.html")),
    Question("boost split string", "boost", ("string_algo/usage.html", "boost/algorithm/split.html", "string_algo/quickref.html")),
    Question("boost read json", "boost", ("property_tree/parsers.html", "property_tree/tutorial.html")),
    Question("boost signals and slots connect", "boost", ("signals2.html", "signals2/tutorial.html")),
    Question("boost print stack trace", "boost", ("stacktrace.html", "stacktrace/getting_started.html")),
    Question("hash for own class unordered_map boost", "boost", ("hash/custom.html", "hash/tutorial.html", "unordered/hash_equality.html", "hash/combine.html")),
    Question("boost random number in range", "boost", ("boost_random/tutorial.html", "boost/random/uniform_int_distribution.html", "boost_random.html")),
    Question("boost variant visitor", "boost", ("variant/tutorial.html", "boost/static_visitor.html", "boost/apply_visitor.html")),
    Question("intrusive list hook", "boost", ("intrusive/list.html", "intrusive/usage.html", "intrusive/slist.html", "intrusive.html")),
)  # fmt: skip
ASKED_ONCE = (
    Question("python flatten nested loops break out", "python", ("tutorial/controlflow.html",)),
    Question("python get current directory", "python", ("library/os.html", "library/pathlib.html")),
    Question("python count words in text", "python", ("library/collections.html",)),
    Question("how do I pass a variable by reference", "python", ("faq/programming.html",)),
    Question("python round decimal numbers money", "python", ("library/decimal.html",)),
    Question("why is 0.1 + 0.2 not exact", "python", ("tutorial/floatingpoint.html", "faq/design.html")),
    Question("python type hints optional union", "python", ("library/typing.html",)),
    Question("python schedule task to run later", "python", ("library/sched.html", "library/threading.html")),
    Question("python daemon thread timer", "python", ("library/threading.html",)),
    Question("python environment variables", "python", ("library/os.html", "using/cmdline.html")),
    Question("download file over http python", "python", ("library/urllib.request.html", "howto/urllib2.html")),
    Question("python base class abstract method", "python", ("library/abc.html",)),
    Question("python make class with fields automatically", "python", ("library/dataclasses.html",)),
    Question("python walk through folders recursively", "python", ("library/os.html", "library/pathlib.html", "library/glob.html")),
    Question("serialize objects to disk", "python", ("library/pickle.html", "library/shelve.html", "library/persistence.html")),
    Question("python find memory leak", "python", ("library/tracemalloc.html", "library/gc.html")),
    Question("python unicode encode decode error", "python", ("howto/unicode.html", "library/codecs.html")),
    Question("write a tcp server in python", "python", ("library/socketserver.html", "library/asyncio-stream.html", "library/socket.html", "howto/sockets.html")),
    Question("asyncio timeout", "python", ("library/asyncio-task.html",)),
    Question("python call c library", "python", ("library/ctypes.html",)),
    Question("translate messages of a program", "python", ("library/gettext.html",)),
    Question("python log rotation", "python", ("library/logging.handlers.html", "howto/logging-cookbook.html")),
    Question("python compare two text files", "python", ("library/difflib.html", "library/filecmp.html")),
    Question("python gui button window", "python", ("library/tkinter.html", "library/tkinter.ttk.html")),
    Question("python switch case match", "python", ("tutorial/controlflow.html", "reference/compound_stmts.html")),
    Question("python progress of list comprehension nested", "python", ("tutorial/datastructures.html",)),
    Question("read toml file", "python", ("library/tomllib.html",)),
    Question("python import module from path", "python", ("library/importlib.html", "tutorial/modules.html", "reference/import.html")),
    Question("create read only user postgres", "postgresql", ("predefined-roles.html", "sql-grant.html", "ddl-priv.html", "sql-createrole.html")),
    Question("generate uuid in database", "postgresql", ("functions-uuid.html", "uuid-ossp.html", "datatype-uuid.html")),
    Question("postgres case insensitive like pattern", "postgresql", ("functions-matching.html", "citext.html")),
    Question("move table to another disk", "postgresql", ("manage-ag-tablespaces.html", "sql-altertable.html", "sql-createtablespace.html")),
    Question("kill idle sessions postgres", "postgresql", ("runtime-config-client.html", "functions-admin.html")),
    Question("delete all rows quickly", "postgresql", ("sql-truncate.html",)),
    Question("postgres logical replication between two servers", "postgresql", ("logical-replication.html", "logical-replication-quick-setup.html", "sql-createsubscription.html", "logical-replication-config.html")),
    Question("encrypt column data", "postgresql", ("pgcrypto.html", "encryption-options.html")),
    Question("postgres array contains element", "postgresql", ("functions-array.html", "arrays.html")),
    Question("slow query log", "postgresql", ("auto-explain.html", "runtime-config-logging.html", "pgstatstatements.html")),
    Question("import foreign csv as table", "postgresql", ("file-fdw.html",)),
    Question("cascade delete child rows foreign key", "postgresql", ("ddl-constraints.html", "tutorial-fk.html")),
    Question("what does bitmap heap scan mean", "postgresql", ("using-explain.html", "indexes-bitmap-scans.html")),
    Question("kinds of indexes btree hash gin", "postgresql", ("indexes-types.html",)),
    Question("first day of month truncate timestamp", "postgresql", ("functions-datetime.html",)),
    Question("convert number to text with format", "postgresql", ("functions-formatting.html",)),
    Question("postgres pivot table crosstab", "postgresql", ("tablefunc.html",)),
    Question("transaction id wraparound", "postgresql", ("routine-vacuuming.html",)),
    Question("switch standby to primary after failure", "postgresql", ("warm-standby-failover.html", "app-pg-ctl.html")),
    Question("store large binary files in postgres", "postgresql", ("largeobjects.html", "datatype-binary.html", "lo-intro.html", "lo.html")),
    Question("psql connect to host with port", "postgresql", ("app-psql.html", "libpq-connect.html", "tutorial-accessdb.html")),
    Question("password file so that psql does not ask", "postgresql", ("libpq-pgpass.html",)),
    Question("notify application when data changes", "postgresql", ("sql-notify.html", "libpq-notify.html", "sql-listen.html", "tcn.html")),
    Question("sample random rows of table", "postgresql", ("sql-select.html", "tsm-system-rows.html", "tsm-system-time.html")),
    Question("return inserted id", "postgresql", ("dml-returning.html", "sql-insert.html")),
    Question("postgres loop over query results in function", "postgresql", ("plpgsql-control-structures.html",)),
    Question("postgres default value current timestamp", "postgresql", ("ddl-default.html", "sql-createtable.html", "functions-datetime.html")),
    Question("sqlite run from command line", "sqlite", ("cli.html",)),
    Question("sqlite c example program", "sqlite", ("quickstart.html", "cintro.html")),
    Question("sqlite maximum number of columns", "sqlite", ("limits.html",)),
    Question("sqlite recursive common table expression", "sqlite", ("lang_with.html",)),
    Question("sqlite partial index", "sqlite", ("partialindex.html", "lang_createindex.html")),
    Question("undo redo in application with triggers", "sqlite", ("undoredo.html",)),
    Question("sqlite encryption alternative sqlite over network", "sqlite", ("useovernet.html", "whentouse.html")),
    Question("sqlite null handling", "sqlite", ("nulls.html",)),
    Question("sqlite load extension", "sqlite", ("loadext.html", "c3ref/load_extension.html")),
    Question("which pragma speeds up writes synchronous", "sqlite", ("pragma.html",)),
    Question("sqlite running total window", "sqlite", ("windowfunctions.html",)),
    Question("store images as blob or as files", "sqlite", ("intern-v-extern-blob.html", "fasterthanfs.html")),
    Question("compile sqlite with options", "sqlite", ("compile.html", "howtocompile.html")),
    Question("sqlite computed columns", "sqlite", ("gencol.html",)),
    Question("compare two sqlite databases", "sqlite", ("sqldiff.html", "dbhash.html")),
    Question("why does sqlite not use my index", "sqlite", ("queryplanner.html", "optoverview.html", "faq.html", "queryplanner-ng.html")),
    Question("does sqlite need a server", "sqlite", ("serverless.html", "about.html", "zeroconf.html")),
    Question("sqlite string functions substr", "sqlite", ("lang_corefunc.html",)),
    Question("sqlite average group by", "sqlite", ("lang_aggfunc.html", "lang_select.html")),
    Question("split large commit into smaller", "git", ("git-rebase.html", "git-add.html")),
    Question("rename a branch", "git", ("git-branch.html",)),
    Question("git pull without merge", "git", ("git-pull.html", "git-fetch.html")),
    Question("git download only part of repository", "git", ("git-clone.html", "git-sparse-checkout.html", "technical/partial-clone.html")),
    Question("remove sensitive file from whole history", "git", ("git-filter-branch.html", "gitfaq.html")),
    Question("git alias for commands", "git", ("git-config.html", "git.html")),
    Question("git which branch contains commit", "git", ("git-branch.html", "git-tag.html")),
    Question("stage only part of changes", "git", ("git-add.html",)),
    Question("apply a patch file", "git", ("git-apply.html", "git-am.html")),
    Question("git shallow clone depth", "git", ("git-clone.html", "technical/shallow.html")),
    Question("undo a merge that was pushed", "git", ("howto/revert-a-faulty-merge.html", "git-revert.html")),
    Question("git how to write range of commits", "git", ("gitrevisions.html", "git-rev-list.html")),
    Question("move from svn to git", "git", ("git-svn.html",)),
    Question("git serve repositories over http", "git", ("git-http-backend.html", "howto/setup-git-server-over-http.html", "gitweb.html", "git-instaweb.html")),
    Question("reuse recorded conflict resolution", "git", ("git-rerere.html",)),
    Question("git proxy and certificates https", "git", ("git-config.html",)),
    Question("number of commits per author", "git", ("git-shortlog.html",)),
    Question("git check integrity of repository", "git", ("git-fsck.html",)),
    Question("add remote and push", "git", ("git-remote.html", "git-push.html")),
)  # fmt: skip

SETS = {
    "first set": QUESTIONS,
    "held back": HELD_BACK,
    "tried": TRIED,
    "Java and Boost": JAVA_AND_BOOST,
    "asked once": ASKED_ONCE,
}


def misspelt(words: str) -> str:
    """Return the words with two letters in the middle of the longest one swapped."""
    longest = max(words.split(), key=len)
    middle = len(longest) // 2
    wrong = longest[: middle - 1] + longest[middle] + longest[middle - 1] + longest[middle + 1 :]
    return words.replace(longest, wrong)


def places(
    finder: Finder,
    origins: dict[str, str],
    questions: Sequence[Question],
    change: Callable[[str], str] = str,
) -> list[int]:
    """Return the place of the first right page for each question, or 0."""
    found = []
    for one in questions:
        wanted = {f"{origins[one.manual]}/{page}" for page in one.pages}
        answered = finder.answer(change(one.words), SearchRequest(count=_SHOWN))
        urls = [result.entry.url for result in answered.results]
        found.append(next((nth for nth, url in enumerate(urls, 1) if url in wanted), 0))
    return found


def _counted(found: list[int]) -> tuple[str, str]:
    return str(sum(one == 1 for one in found)), str(sum(0 < one <= TOP for one in found))


@click.command()
@click.option("--store", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--misses", is_flag=True, help="Show questions whose first result is wrong.")
def main(store: Path, misses: bool) -> None:
    bring_up_to_date(store)
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
    finder = Finder(search_folder(store))
    lines = store.with_suffix(".origins").read_text().splitlines()
    origins = {name: origin.rstrip("/") for name, origin in map(str.split, lines)}
    click.echo(f"{circumstances()} {len(finder):,} pages.\n")
    click.echo("\n".join(head("questions", "number", "first", f"in the first {TOP}")))
    for name, questions in SETS.items():
        asked = [one for one in questions if one.manual in origins]
        right = places(finder, origins, asked)
        wrong = places(finder, origins, asked, misspelt)
        click.echo(row(f"{name}, as written", str(len(asked)), *_counted(right)))
        click.echo(row(f"{name}, two letters exchanged", str(len(asked)), *_counted(wrong)))
        for one, place, place_of_wrong in zip(asked, right, wrong, strict=True) if misses else ():
            if (place, place_of_wrong) != (1, 1):
                click.echo(f"{place:>3} {place_of_wrong:>3}  {one.words} / {misspelt(one.words)}")


if __name__ == "__main__":
    main()
