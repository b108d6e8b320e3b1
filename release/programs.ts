/**
 * `npm run programs`: makes `culvert` and `culvert-relay` as single files, which need no Node, in dist-programs/.
 *
 *     node release/programs.ts [SYSTEM...]    linux-x64, linux-arm64, win-x64; default: this machine's
 *
 * A program is Node with our code in it (https://nodejs.org/api/single-executable-applications.html). Node comes from
 * the packages of the registry, in the version that runs this script, because compiled code fits that version alone.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { bundle, DIST, mediaTypes, SINGLE_FILE, WINDOW } from './build.ts';
import { ROOT } from './repository.ts';

const OUTPUT = join(ROOT, 'dist-programs');
const WORK = join(OUTPUT, 'work');
const THIS = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const SYSTEMS = ['linux-x64', 'linux-arm64', 'win-x64'];
/** Marks the place in Node that tells whether a program is in it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

interface Program {
  readonly name: string;
  /** the bundled file */
  readonly main: string;
  /** files that are read by their names */
  readonly assets: Readonly<Record<string, string>>;
}

const PROGRAMS: readonly Program[] = [
  {
    name: 'culvert',
    main: join(WORK, 'desktop/program.js'),
    assets: Object.fromEntries(readdirSync(WINDOW).map((file) => [`window/${file}`, join(WINDOW, file)])),
  },
  {
    name: 'culvert-relay',
    main: join(WORK, 'server/single-file.js'),
    assets: { 'store-thread.cjs': join(DIST, 'server/store-thread.cjs') },
  },
];

const systems = process.argv.length > 2 ? process.argv.slice(2) : [THIS];
for (const system of systems) {
  if (SYSTEMS.includes(system)) continue;
  process.stderr.write(`${system} is not a system that programs are made for: ${SYSTEMS.join(', ')}\n`);
  process.exit(2);
}
rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(WORK, { recursive: true });
await bundle('desktop', ['cli/program.ts'], SINGLE_FILE, [], WORK);
await bundle('server', ['single-file.ts'], SINGLE_FILE, [mediaTypes], WORK);
for (const system of systems) {
  const node = stripped(fetchNode(system), system);
  for (const program of PROGRAMS) await make(program, system, node);
}
rmSync(WORK, { recursive: true });

/** @returns the path of Node for a system */
function fetchNode(system: string): string {
  if (system === THIS) return process.execPath;
  const name = `node-${system}@${process.versions.node}`;
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', WORK, name], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const folder = join(WORK, system);
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', join(WORK, packed.trim()), '-C', folder]);
  return join(folder, 'package/bin', system.startsWith('win') ? 'node.exe' : 'node');
}

/** Writes the program, the compressed one to download, and the program's digest. */
async function make({ name, main, assets }: Program, system: string, node: string): Promise<void> {
  const blob = join(WORK, `${name}-${system}.blob`);
  const config = join(WORK, `${name}-${system}.json`);
  // Code is compiled for the processor of this machine.
  const useCodeCache = system === THIS;
  const settings = { main, output: blob, disableExperimentalSEAWarning: true, useCodeCache, assets };
  writeFileSync(config, JSON.stringify(settings));
  execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' });
  const program = join(OUTPUT, `${name}-${system}${system.startsWith('win') ? '.exe' : ''}`);
  copyFileSync(node, program);
  const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
  // It warns about parts of Node that it does not touch.
  execFileSync(process.execPath, [postject, program, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE], {
    stdio: 'pipe',
  });
  chmodSync(program, 0o755);
  await pipeline(createReadStream(program), createGzip({ level: 9 }), createWriteStream(`${program}.gz`));
  const digest = createHash('sha256').update(readFileSync(program)).digest('hex');
  writeFileSync(`${program}.sha256`, `${digest}  ${basename(program)}\n`);
  process.stdout.write(`${program} ${megabytes(program)} MB, compressed ${megabytes(`${program}.gz`)} MB\n`);
}

/**
 * Removes the names of functions, a seventh of Node, which only debuggers need.
 *
 * @returns the path of what is left
 */
function stripped(node: string, system: string): string {
  if (!system.startsWith('linux')) return node;
  const small = join(WORK, `node-${system}`);
  const tool = system === THIS ? 'strip' : 'llvm-strip';
  const { error, status } = spawnSync(tool, ['-s', '-o', small, node], { stdio: 'inherit' });
  if (error === undefined && status === 0) return small;
  process.stderr.write(`Without ${tool}, the programs for ${system} are larger.\n`);
  return node;
}

function megabytes(file: string): string {
  return (statSync(file).size / 1_000_000).toFixed(1);
}
