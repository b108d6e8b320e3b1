import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onLinux, onPosix } from '../../../shared/testing/posix.ts';
import {
  firstFiles,
  guessFramework,
  latestProcesses,
  type Listener,
  listListeners,
  listWithLsof,
  listWithNetstat,
  portScan,
  programRunner,
  readListening,
  readTcpTable,
  run,
  SocketOwners,
  MANIFEST_MAX_BYTES,
  PORT_PROGRAM_MAX_BYTES,
  PORTS_MAX,
  PROCESS_FILES_MAX,
  PROCESSES_MAX,
} from './ports.ts';

const listener = (change: Partial<Listener>): Listener => ({
  port: 3000,
  pid: 7,
  process: 'node',
  command: 'node server.js',
  manifest: undefined,
  ...change,
});

describe('guessFramework', () => {
  const cases: [string, string | undefined, Partial<Listener>][] = [
    ['Vite', 'Vite', { command: 'node /app/node_modules/.bin/vite --host' }],
    ['Next.js', 'Next.js', { command: 'next-server (v16.0.0)', process: 'next-server' }],
    ['Django', 'Django', { command: 'python manage.py runserver 8000', process: 'python' }],
    ['Rails', 'Rails', { command: 'puma 6.4 (tcp://localhost:3000) [shop]', process: 'ruby' }],
    ['a package.json', 'NestJS', { manifest: '{"dependencies":{"@nestjs/core":"^11"}}' }],
    ['a bare server in a package that has a library', 'Node', { manifest: '{"dependencies":{"koa":"^3"}}' }],
    ['a broken package.json', 'Node', { manifest: '{"dependencies":' }],
    ['Node', 'Node', {}],
    ['nothing known', undefined, { command: 'postgres', process: 'postgres' }],
  ];
  for (const [title, framework, change] of cases) {
    it(`finds ${title}`, () => assert.equal(guessFramework(listener(change)), framework));
  }
});

describe('portScan', () => {
  it('lists each port once, the likeliest first, without Culvert and the system', () => {
    const scan = portScan(
      [
        listener({ port: 22, pid: undefined, process: undefined, command: '' }),
        listener({ port: 5432, process: 'postgres', command: 'postgres' }),
        listener({ port: 9000, pid: undefined, process: undefined, command: '' }),
        listener({ port: 5173, command: 'vite' }),
        listener({ port: 5173, command: 'vite' }),
        listener({ port: 4000, pid: 99 }),
      ],
      true,
      new Set([99]),
      guessFramework,
    );
    assert.deepEqual(
      scan.ports.map(({ port }) => port),
      [5173, 5432, 9000],
    );
    assert.ok(scan.listening.has(22) && scan.listening.has(4000));
  });

  it('offers 200 ports, and tracks all of them', () => {
    const listeners = Array.from({ length: PORTS_MAX + 1 }, (_, index) => listener({ port: 3000 + index }));
    const scan = portScan(listeners, true, new Set(), guessFramework);
    assert.deepEqual([scan.ports.length, scan.listening.size], [200, 201]);
  });
});

describe('ports on Linux', () => {
  const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1435 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0
   1: 0100007F:1435 0100007F:A0B2 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0
`;

  onPosix(
    'are the listening ones in the table, read without the thousands of connections after them',
    async () => {
      const path = join(makeProc(42, '{}'), 'net/tcp');
      const [connection = ''] = TABLE.split('\n').slice(2);
      const many = `${connection}\n`.repeat(20_000);
      writeFileSync(path, TABLE + many);
      const read = await readListening(path);
      assert.ok(read.length < many.length / 10);
      assert.deepEqual(readTcpTable(read), [{ port: 5173, inode: '4711' }]);
      // Not every system that imitates Linux sorts them.
      const few = `${connection}\n`.repeat(200);
      writeFileSync(path, few + TABLE);
      assert.deepEqual(readTcpTable(await readListening(path)), [{ port: 5173, inode: '4711' }]);
    },
  );

  /** A `/proc` with a process `pid` that owns the socket of the table. */
  function makeProc(pid: number, manifest: string): string {
    const root = mkdtempSync(join(tmpdir(), 'culvert-proc-'));
    roots.push(root);
    const app = join(root, 'app');
    const process = join(root, String(pid));
    mkdirSync(join(root, 'net'));
    mkdirSync(join(process, 'fd'), { recursive: true });
    mkdirSync(app);
    writeFileSync(join(root, 'net/tcp'), TABLE);
    writeFileSync(join(process, 'cmdline'), '/usr/bin/node\0server.js\0');
    writeFileSync(join(process, 'comm'), 'MainThread\n');
    writeFileSync(join(app, 'package.json'), manifest);
    symlinkSync('socket:[4711]', join(process, 'fd/20'));
    symlinkSync(app, join(process, 'cwd'));
    return root;
  }

  const roots: string[] = [];
  const writers: number[] = [];
  afterEach(() => {
    for (const writer of writers.splice(0)) closeSync(writer);
    for (const root of roots.splice(0)) rmSync(root, { recursive: true });
  });

  onPosix('come with their programs, and the package.json of those up to 256 KiB', async () => {
    const server = { port: 5173, pid: 42, process: 'node', command: '/usr/bin/node server.js' };
    for (const [manifest, known] of [
      ['{}', '{}'],
      [' '.repeat(MANIFEST_MAX_BYTES), ' '.repeat(MANIFEST_MAX_BYTES)],
      [' '.repeat(MANIFEST_MAX_BYTES + 1), undefined],
    ] as const)
      assert.deepEqual(await listListeners(makeProc(42, manifest)), [{ ...server, manifest: known }]);
  });

  it('have their programs within the latest 3,000 and the first 1,000 of their open files', () => {
    const pids = Array.from({ length: PROCESSES_MAX + 1 }, (_, index) => String(index + 1));
    const processes = latestProcesses(['self', ...pids.toSorted()]);
    assert.deepEqual([processes.length, processes[0], processes.at(-1)], [3000, 2, 3001]);
    const all = Array.from({ length: PROCESS_FILES_MAX + 1 }, (_, index) => String(index));
    const files = firstFiles(all.toSorted());
    assert.deepEqual([files.length, files[0], files.at(-1)], [1000, '0', '999']);
  });

  onPosix('come without a package.json that is a pipe, which nothing ever comes out of', async () => {
    const root = makeProc(42, '');
    const manifest = join(root, 'app/package.json');
    rmSync(manifest);
    execFileSync('mkfifo', [manifest]);
    // A program that reads it anyway waits until this is closed.
    writers.push(openSync(manifest, constants.O_RDWR | constants.O_NONBLOCK));
    const [found] = await listListeners(root);
    assert.deepEqual([found?.pid, found?.manifest], [42, undefined]);
  });

  onPosix('are searched among all open files only when one is new or its program is gone', async () => {
    const root = makeProc(42, '{}');
    const owners = new SocketOwners(root);
    const pids = async (...inodes: string[]) => {
      const found = await owners.find(new Set(inodes));
      return inodes.map((inode) => found.get(inode));
    };
    assert.deepEqual(await pids('4711'), [42]);
    symlinkSync('socket:[4713]', join(root, '42/fd/21'));
    rmSync(join(root, '42/fd/20'));
    assert.deepEqual(await pids('4711'), [42]);
    assert.deepEqual(await pids('4711', '4713'), [undefined, 42]);
    renameSync(join(root, '42'), join(root, '43'));
    assert.deepEqual(await pids('4713'), [43]);
  });

  onLinux('are those of this machine', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const found = (await listListeners()).find((each) => each.port === port);
      assert.equal(found?.pid, process.pid);
    } finally {
      server.close();
    }
  });
});

describe('ports from programs', () => {
  it('are read from lsof and ps', async () => {
    const outputs = ['p42\ncnode\nf20\nn127.0.0.1:5173\nf21\nn[::1]:5173\n', '   42 node /app/.bin/vite\n'];
    const found = await listWithLsof(() => Promise.resolve(outputs.shift() ?? ''));
    assert.deepEqual(
      found.map(({ port, pid, process, command }) => [port, pid, process, command]),
      [
        [5173, 42, 'node', 'node /app/.bin/vite'],
        [5173, 42, 'node', 'node /app/.bin/vite'],
      ],
    );
  });

  it('are read from netstat and tasklist, in any language', async () => {
    const outputs: Record<string, string> = {
      netstat: [
        '  TCP    0.0.0.0:5173    0.0.0.0:0    ABHÖREN         42',
        '  TCP    127.0.0.1:5173  127.0.0.1:9  HERGESTELLT     42',
        '  TCP    [::]:3000       [::]:0       LISTENING       43',
        '  UDP    0.0.0.0:5353    *:*                          44',
      ].join('\r\n'),
      tasklist: '"node.exe","42","Console","1","50.000 K"\r\n',
    };
    const found = await listWithNetstat((program, args) => {
      // On Windows, `-p TCP` means IPv4 only.
      if (program === 'netstat') assert.deepEqual(args, ['-ano']);
      return Promise.resolve(outputs[program] ?? '');
    });
    assert.deepEqual(
      found.map(({ port, process }) => [port, process]),
      [
        [5173, 'node'],
        [3000, undefined],
      ],
    );
  });
});

const node = (code: string): [string, string[]] => [process.execPath, ['-e', code]];
const print = (bytes: number) => node(`process.stdout.write('x'.repeat(${bytes}))`);

describe('a program that lists ports', () => {
  it('may print 4 MiB, and is killed when it exceeds the time limit', async () => {
    assert.equal((await run(...print(PORT_PROGRAM_MAX_BYTES))).length, PORT_PROGRAM_MAX_BYTES);
    await assert.rejects(run(...print(PORT_PROGRAM_MAX_BYTES + 1)), /maxBuffer/);
    const slow = programRunner({ timeoutMs: 50, maxBytes: 1000 });
    await assert.rejects(slow(...node('setInterval(() => {}, 1000)')), { killed: true, signal: 'SIGTERM' });
  });
});
