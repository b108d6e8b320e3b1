/**
 * The programs that keep a user's services running: systemd, launchd and the Task Scheduler of Windows. A definition
 * contains no path or text of a project except in its description: those are in the record that `culvert service run`
 * reads, so that the name of a folder cannot add a directive.
 */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { posix, win32 } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { escapeUnprintable, withoutEnd } from '../../../shared/unprintable.ts';
import { DurableFile } from '../../client/config/durable-file.ts';
import type { Machine } from '../../client/config/stored-login.ts';
import { EXIT_CODE_MEANINGS, ExitCode } from '../../client/failures.ts';

/** How long a program of the system, such as `systemctl`, may take; stopping a service is the longest. */
const SYSTEM_COMMAND_MS = 60_000;
/** How long a service waits before it is started again after a failure. */
const SERVICE_RESTART_SECONDS = 10;
/** How long a service has to close its tunnels: longer than the relay has to answer. */
const SERVICE_STOP_SECONDS = 20;

/** What a definition is made of. */
interface ServiceDefinition {
  /** lower-case letters, digits and hyphens */
  readonly name: string;
  /** any text, for people */
  readonly description: string;
  /** absolute paths of Node and of the program, and its arguments */
  readonly command: readonly string[];
  /** what Node and the program read before they know the service */
  readonly env: Readonly<Record<string, string>>;
}

interface ServiceState {
  readonly running: boolean;
  /** for people, such as `running` */
  readonly text: string;
}

export interface ServiceManager {
  /**
   * Looks before anything is written.
   *
   * @param command what it would have to start
   * @throws ServiceError if it is not available, or cannot start that
   */
  check(command?: readonly string[]): Promise<void>;
  /**
   * Writes the definition, replacing a previous one, and starts the service or restarts it.
   *
   * @returns whether it also starts before the user logs in, and what to do about that if it does not
   */
  install(service: ServiceDefinition): Promise<{ readonly beforeLogin: boolean; readonly hint?: string }>;
  /** @returns `undefined` for a service that is not defined */
  state(name: string): Promise<ServiceState | undefined>;
  /** Stops the service and removes its definition, if it exists. */
  remove(name: string): Promise<void>;
  /** the command that shows the log, or the file that the service has to write itself */
  log(name: string): { readonly command: string } | { readonly file: string };
}

/** Thrown with a sentence that says what failed, and what to do. */
export class ServiceError extends Error {}

export interface Ran {
  /** `undefined` if the program could not be started */
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

export interface ServiceMachine extends Machine {
  readonly username: string;
  readonly uid: number | undefined;
  /** Runs a program of the system to its end. */
  readonly run: typeof runProgram;
}

/** Runs a program without a shell and without input, for at most {@link SYSTEM_COMMAND_MS}. */
export function runProgram(program: string, ...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { timeout: SYSTEM_COMMAND_MS, windowsHide: true, env: { ...process.env, LC_ALL: 'C' } };
    const child = execFile(program, args, options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ code, out, err: code === undefined && err === '' ? String(error?.message) : err });
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end();
  });
}

/** @throws ServiceError for a system that has none of the three */
export function serviceManager(machine: ServiceMachine): ServiceManager {
  const { platform } = machine;
  if (platform === 'linux') return new Systemd(machine);
  if (platform === 'darwin') return new Launchd(machine);
  if (platform === 'win32') return new TaskScheduler(machine);
  throw new ServiceError(
    `Services are not supported on ${platform}. Run "culvert start" with the system's own tools.`,
  );
}

function trimmedLines(text: string): string[] {
  return text.split('\n').map((line) => line.trim());
}

/** @throws ServiceError unless the program has succeeded */
async function must(run: Promise<Ran>, what: string): Promise<string> {
  const { code, out, err } = await run;
  if (code === 0) return out;
  const why = withoutEnd(trimmedLines(err.trim() || out.trim()).join(' '));
  throw new ServiceError(`${what} failed${why === '' ? '' : `: ${why}`}.`);
}

/* systemd (systemd.service(5), systemd.syntax(7)). */

/** Starting again would not help: the exit codes of {@link EXIT_CODE_MEANINGS}. */
export const FINAL_CODES: readonly number[] = [
  ExitCode.usage,
  ExitCode.keyRefused,
  ExitCode.gone,
  ExitCode.replaced,
];

export function systemdUnit({ description, command, env }: ServiceDefinition): string {
  const variables = Object.entries(env).map(
    ([name, value]) => `Environment=${systemdQuoted(`${name}=${value}`)}\n`,
  );
  const [program = '', ...args] = command;
  // Without the parentheses, a backslash at the end would continue the line.
  return `# Written by "culvert service install", which also changes it; "culvert service uninstall" removes it.
[Unit]
Description=Culvert tunnels (${escapeUnprintable(description).replaceAll('%', '%%')})
StartLimitIntervalSec=0

[Service]
ExecStart=${[systemdQuoted(program), ...args.map((arg) => systemdQuoted(arg).replaceAll('$', '$$$$'))].join(' ')}
${variables.join('')}Restart=on-failure
RestartSec=${SERVICE_RESTART_SECONDS}
RestartPreventExitStatus=${FINAL_CODES.join(' ')}
TimeoutStopSec=${SERVICE_STOP_SECONDS}

[Install]
WantedBy=default.target
`;
}

function systemdQuoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`;
}

class Systemd implements ServiceManager {
  readonly #machine: ServiceMachine;

  constructor(machine: ServiceMachine) {
    this.#machine = machine;
  }

  async check(command: readonly string[] = []): Promise<void> {
    // A variable is not replaced in the path of the program, so that it cannot be escaped there.
    if (command[0]?.includes('$') === true)
      throw new ServiceError(`systemd cannot start ${command[0]}, because its path contains a "$".`);
    await this.#environment();
  }

  /** @returns the environment of the manager, a variable a line */
  async #environment(): Promise<string> {
    const { code, out, err } = await this.#systemctl('show-environment');
    if (code === 0) return out;
    const why = code === undefined ? 'systemctl cannot be run' : withoutEnd(err.trim());
    throw new ServiceError(
      `systemd does not run services for this user here (${why}), as in containers, or after "su" and "sudo". ` +
        'Log in as the user, or run "culvert start" with the tools that start other programs here.',
    );
  }

  async install(service: ServiceDefinition) {
    const { name } = service;
    const file = await this.#file(name);
    await file.write(systemdUnit(service));
    await must(this.#systemctl('daemon-reload'), 'systemctl --user daemon-reload');
    await must(this.#systemctl('enable', `${name}.service`), `systemctl --user enable ${name}`);
    await must(this.#systemctl('restart', `${name}.service`), `systemctl --user restart ${name}`);
    return this.#linger();
  }

  /** Without it, systemd starts the services of a user at login, and stops them at logout (loginctl(1)). */
  async #linger() {
    const { username } = this.#machine;
    const shown = await this.#machine.run('loginctl', 'show-user', username, '--property=Linger', '--value');
    if (shown.code === 0 && shown.out.trim() === 'yes') return { beforeLogin: true };
    const { code } = await this.#machine.run('loginctl', '--no-ask-password', 'enable-linger', username);
    if (code === 0) return { beforeLogin: true };
    return { beforeLogin: false, hint: `sudo loginctl enable-linger ${username}` };
  }

  async state(name: string): Promise<ServiceState | undefined> {
    await this.check();
    const properties = 'LoadState,ActiveState,SubState,Result,ExecMainStatus';
    const out = await must(
      this.#systemctl('show', `${name}.service`, `--property=${properties}`),
      `systemctl --user show ${name}`,
    );
    const values = new Map(out.split('\n').map((line) => line.split('=', 2) as [string, string]));
    if (values.get('LoadState') === 'not-found') return undefined;
    const state = values.get('ActiveState');
    if (state === 'active') return { running: true, text: 'running' };
    const last = ended(Number(values.get('ExecMainStatus')));
    if (state === 'activating') return { running: false, text: `waiting to be started again${last}` };
    return { running: false, text: state === 'failed' ? `failed${last}` : 'stopped' };
  }

  async remove(name: string): Promise<void> {
    const file = await this.#file(name);
    await this.#systemctl('disable', '--now', `${name}.service`);
    await file.remove();
    await must(this.#systemctl('daemon-reload'), 'systemctl --user daemon-reload');
    await this.#systemctl('reset-failed', `${name}.service`);
  }

  log(name: string) {
    return { command: `journalctl --user -u ${name}` };
  }

  /** In the folder that the manager reads, whatever this shell's variables are (systemd.unit(5)). */
  async #file(name: string): Promise<DurableFile> {
    const [, configured] = /^XDG_CONFIG_HOME=(\/.*)$/m.exec(await this.#environment()) ?? [];
    const config = configured ?? posix.join(this.#machine.home, '.config');
    return new DurableFile(posix.join(config, 'systemd', 'user', `${name}.service`));
  }

  #systemctl(...args: string[]): Promise<Ran> {
    return this.#machine.run('systemctl', '--user', '--no-ask-password', ...args);
  }
}

/** What is known about the last end. */
function ended(code: number): string {
  const meaning = EXIT_CODE_MEANINGS[code as ExitCode] as string | undefined;
  if (code === 0) return '';
  return meaning === undefined ? ` (exit code ${code})` : ` (exit code ${code}: ${withoutEnd(meaning)})`;
}

/* launchd (launchd.plist(5)). */

/** launchd does not know which exit codes are final, so the program ends with 0 after those. */
export function launchAgent(service: ServiceDefinition, logFile: string): string {
  const { name, command, env } = service;
  const variables = Object.entries(env).map(
    ([key, value]) => `    <key>${xml(key)}</key>\n    <string>${xml(value)}</string>\n`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xml(launchdLabel(name))}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${xml(word)}</string>\n`).join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join('')}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>${SERVICE_RESTART_SECONDS}</integer>
  <key>ExitTimeOut</key>
  <integer>${SERVICE_STOP_SECONDS}</integer>
  <key>StandardOutPath</key>
  <string>${xml(logFile)}</string>
  <key>StandardErrorPath</key>
  <string>${xml(logFile)}</string>
</dict>
</plist>
`;
}

function launchdLabel(name: string): string {
  return `dev.culvert.${name}`;
}

/** Text for an element, without the characters that XML 1.0 does not have. */
function xml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return escapeUnprintable(text.toWellFormed())
    .replaceAll(/[\u{fffe}\u{ffff}]/gu, '\u{fffd}')
    .replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
}

/** The start of a line of `launchctl print`. */
const LAST_CODE = 'last exit code = ';

class Launchd implements ServiceManager {
  readonly #machine: ServiceMachine;

  constructor(machine: ServiceMachine) {
    this.#machine = machine;
  }

  async check(): Promise<void> {
    const { code } = await this.#launchctl('print', this.#domain);
    if (code === 0) return;
    throw new ServiceError(
      'launchd runs agents only for a user who is logged in on the screen of this Mac. Log in there first.',
    );
  }

  async install(service: ServiceDefinition) {
    const { name } = service;
    const file = this.#file(name);
    await file.write(launchAgent(service, this.log(name).file));
    await this.#launchctl('bootout', this.#target(name));
    // The previous one may take until now to end.
    for (let tries = 1; tries < SERVICE_STOP_SECONDS; tries += 1) {
      if ((await this.#launchctl('bootstrap', this.#domain, file.path)).code === 0)
        return { beforeLogin: false };
      await delay(1000);
    }
    await must(this.#launchctl('bootstrap', this.#domain, file.path), `launchctl bootstrap ${file.path}`);
    return { beforeLogin: false };
  }

  async state(name: string): Promise<ServiceState | undefined> {
    const { code: failed, out } = await this.#launchctl('print', this.#target(name));
    if (failed !== 0) return undefined;
    const lines = trimmedLines(out);
    const running = lines.includes('state = running');
    const last = lines.find((line) => line.startsWith(LAST_CODE))?.slice(LAST_CODE.length) ?? '';
    // It may be followed by an explanation, or be "(never exited)".
    const code = Number.parseInt(last, 10) || 0;
    return { running, text: running ? 'running' : `stopped${ended(code)}` };
  }

  async remove(name: string): Promise<void> {
    await this.#launchctl('bootout', this.#target(name));
    await this.#file(name).remove();
  }

  log(name: string) {
    return { file: posix.join(this.#machine.home, 'Library', 'Logs', 'Culvert', `${name}.log`) };
  }

  get #domain(): string {
    return `gui/${this.#machine.uid}`;
  }

  #target(name: string): string {
    return `${this.#domain}/${launchdLabel(name)}`;
  }

  #file(name: string): DurableFile {
    const { home } = this.#machine;
    return new DurableFile(posix.join(home, 'Library', 'LaunchAgents', `${launchdLabel(name)}.plist`));
  }

  #launchctl(...args: string[]): Promise<Ran> {
    return this.#machine.run('launchctl', ...args);
  }
}

/* The Task Scheduler (Task Scheduler Schema, MS-TSCH). */

/**
 * @param user as `DOMAIN\name`
 * @param beforeLogin whether it starts with the machine, without a password; that needs an administrator to register
 */
export function scheduledTask(
  { description, command }: ServiceDefinition,
  user: string,
  beforeLogin: boolean,
): string {
  const [program = '', ...args] = command;
  const trigger = beforeLogin
    ? '<BootTrigger/>'
    : `<LogonTrigger><UserId>${xml(user)}</UserId></LogonTrigger>`;
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.3" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Culvert tunnels (${xml(description)})</Description>
  </RegistrationInfo>
  <Triggers>
    ${trigger}
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${xml(user)}</UserId>
      <LogonType>${beforeLogin ? 'S4U' : 'InteractiveToken'}</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${xml(program)}</Command>
      <Arguments>${xml(args.map(windowsQuoted).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}

/** Backslashes count only before a quotation mark (CommandLineToArgvW). */
function windowsQuoted(word: string): string {
  const escaped = `${word}"`.replaceAll(/(\\*)"/g, '$1$1\\"');
  return `"${escaped.slice(0, -2)}"`;
}

class TaskScheduler implements ServiceManager {
  readonly #machine: ServiceMachine;

  constructor(machine: ServiceMachine) {
    this.#machine = machine;
  }

  async check(command: readonly string[] = []): Promise<void> {
    // The Task Scheduler replaces these, and has no way to escape them.
    const replaced = command.find((word) => /%|\$\(/.test(word));
    if (replaced !== undefined)
      throw new ServiceError(
        `The Task Scheduler cannot start ${replaced}, because its path contains "%" or "$(".`,
      );
    await must(this.#powershell('Get-Service Schedule'), 'Looking for the Task Scheduler');
  }

  async install(service: ServiceDefinition) {
    const { name } = service;
    await this.#stop(name);
    if ((await this.#register(service, true)).code === 0) await this.#start(name);
    else {
      await must(this.#register(service, false), 'schtasks /Create');
      await this.#start(name);
      return {
        beforeLogin: false,
        hint: 'culvert service install (in a terminal that runs as administrator)',
      };
    }
    return { beforeLogin: true };
  }

  async state(name: string): Promise<ServiceState | undefined> {
    if ((await this.#schtasks('/Query', '/TN', taskName(name))).code !== 0) return undefined;
    const get = `(Get-ScheduledTask -TaskPath '\\Culvert\\' -TaskName '${name}' -ErrorAction Stop).State`;
    const state = (await must(this.#powershell(get), 'Get-ScheduledTask')).trim().toLowerCase();
    return { running: state === 'running', text: state === 'ready' ? 'stopped' : state };
  }

  async remove(name: string): Promise<void> {
    await this.#stop(name);
    if ((await this.#schtasks('/Query', '/TN', taskName(name))).code !== 0) return;
    await must(this.#schtasks('/Delete', '/TN', taskName(name), '/F'), 'schtasks /Delete');
  }

  log(name: string) {
    const { env, home } = this.#machine;
    const local = env['LOCALAPPDATA'] || win32.join(home, 'AppData', 'Local');
    return { file: win32.join(local, 'Culvert', 'Logs', `${name}.log`) };
  }

  async #register(service: ServiceDefinition, beforeLogin: boolean): Promise<Ran> {
    const { env, username, home } = this.#machine;
    const user = env['USERDOMAIN'] ? `${env['USERDOMAIN']}\\${username}` : username;
    const draft = win32.join(env['TEMP'] || home, `${service.name}-${process.pid}.xml`);
    try {
      const text = Buffer.from(`\u{feff}${scheduledTask(service, user, beforeLogin)}`, 'utf16le');
      await writeFile(draft, text, { flag: 'wx' });
      return await this.#schtasks('/Create', '/TN', taskName(service.name), '/XML', draft, '/F');
    } finally {
      await rm(draft, { force: true });
    }
  }

  #start(name: string): Promise<string> {
    return must(this.#schtasks('/Run', '/TN', taskName(name)), 'schtasks /Run');
  }

  #stop(name: string): Promise<Ran> {
    return this.#schtasks('/End', '/TN', taskName(name));
  }

  #schtasks(...args: string[]): Promise<Ran> {
    return this.#machine.run('schtasks.exe', ...args);
  }

  #powershell(command: string): Promise<Ran> {
    return this.#machine.run('powershell.exe', '-NoProfile', '-NonInteractive', '-Command', command);
  }
}

function taskName(name: string): string {
  return `\\Culvert\\${name}`;
}
