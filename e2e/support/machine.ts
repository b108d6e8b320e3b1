/** systemd in namespaces of its own, and commands that run beside it. Needs root, and Debian's package `systemd`. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child, type ChildOptions } from './child.ts';
import { eventually } from './deadline.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

const BOOT = fileURLToPath(new URL('boot-systemd.sh', import.meta.url));

/** What a command inside has printed. */
interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in the namespaces of a process, in a folder there. */
type RunInside = (folder: string, ...command: readonly string[]) => Promise<Outcome>;

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

function mayUnshare(): boolean {
  return spawnSync('unshare', ['--mount', '--net', 'true']).status === 0;
}

/** Whether this process can create namespaces and run systemd in them. */
export function hasNamespaces(): boolean {
  const isRoot = process.getuid?.() === 0;
  return isRoot && ['nsenter', '/lib/systemd/systemd'].every(isThere) && mayUnshare();
}

/** @param namespaces options of nsenter, such as `--mount` */
export function insideOf(
  pid: number,
  namespaces: readonly string[],
  environment: NonNullable<ChildOptions['environment']>,
): RunInside {
  return async (folder, ...command) => {
    const inside = ['--target', String(pid), ...namespaces, `--wdns=${folder}`, '--', ...command];
    const child = new Child('nsenter', inside, { environment });
    const { code } = await child.exit();
    return { code, out: child.lines.join('\n'), err: child.stderr };
  };
}

const NAMESPACES = ['--mount', '--net', '--uts', '--ipc', '--pid', '--cgroup', '--root'];

/** A machine with systemd as PID 1, its own copy of files, and only a loopback network. */
export class Machine {
  readonly run: RunInside;
  /** where this process sees its files */
  readonly root: string;
  /** its first process */
  readonly pid: number;

  private constructor(pid: number) {
    this.pid = pid;
    this.root = `/proc/${pid}/root`;
    this.run = insideOf(pid, NAMESPACES, { PATH: process.env['PATH'], HOME: '/root' });
  }

  /**
   * @param files the root of a system; this machine's by default
   * @returns `undefined` where this process lacks the rights, such as in a container
   * @throws Error if it does not boot otherwise
   */
  static async boot(scope: Scope, files = '/'): Promise<Machine | undefined> {
    if (!hasNamespaces()) return undefined;
    const group = `culvert-test-${randomBytes(6).toString('hex')}`;
    const script = ['sh', BOOT, temporaryDirectory(scope), group, files];
    const outer = new Child('unshare', ['--mount', '--net', '--uts', '--ipc', ...script]);
    scope.defer(() => removeGroup(group));
    scope.defer(() => outer.stop('SIGKILL'));
    const found = await eventually(20_000, async () => {
      if (outer.hasExited) return undefined;
      const [pid = ''] = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').split(' ');
      const machine = new Machine(Number(pid));
      const { out } = await machine.run('/', 'systemctl', 'is-system-running');
      assert.equal(out, 'running');
      return machine;
    });
    if (found === undefined) assert.match(outer.output, /Operation not permitted|Permission denied/i);
    return found;
  }

  /** Connects it with another machine, by a cable. */
  connect(other: Machine, address: string, otherAddress: string): void {
    this.#ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(other.pid));
    for (const [machine, own] of [
      [this, address],
      [other, otherAddress],
    ] as const) {
      machine.#ip('address', 'add', `${own}/24`, 'dev', 'eth0');
      machine.#ip('link', 'set', 'eth0', 'up');
    }
  }

  #ip(...args: string[]): void {
    execFileSync('nsenter', ['--target', String(this.pid), '--net', 'ip', ...args]);
  }

  /** Runs commands as a person types them in a root shell. @throws Error if one fails, with its output */
  async type(commands: string, folder = '/root'): Promise<string> {
    const { code, out, err } = await this.run(folder, 'sh', '-ec', commands);
    assert.equal(code, 0, `${commands}\n${out}\n${err}`);
    return out;
  }
}

/** Removes a control group as soon as the last process in it has ended. */
async function removeGroup(name: string): Promise<void> {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const [, folder] = mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2') ?? [];
  if (folder === undefined) return;
  const path = join(folder, name);
  await eventually(10_000, () => {
    spawnSync('find', [path, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', '+']);
    assert.ok(!existsSync(path));
  });
}
