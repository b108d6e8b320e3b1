/** The environment of a command, which records its output. */
import assert from 'node:assert/strict';
import type { OpenAccessLog, Shell, SignalListener } from '../cli/command.ts';
import type { Log, LogEvent, LogFields } from '../log.ts';

export class FakeShell implements Shell {
  readonly env: NodeJS.ProcessEnv = {};
  readonly user = 'ann';
  isTerminal = false;
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly logged: [event: LogEvent, fields: LogFields][] = [];
  readonly log: Log = (event, fields = {}) => void this.logged.push([event, fields]);
  crash: (error: unknown) => void = () => assert.fail('nobody listens to crashes');
  signal: () => void = () => assert.fail('nobody listens to signals');

  readonly #serving = Promise.withResolvers<void>();
  /** fulfilled when a relay has printed its address */
  readonly serving = this.#serving.promise;

  out(line: string): void {
    this.stdout.push(line);
    if (line.startsWith('listening on ')) this.#serving.resolve();
  }

  failure: Error | undefined;

  flush(): Promise<Error | undefined> {
    return Promise.resolve(this.failure);
  }

  err(line: string): void {
    this.stderr.push(line);
  }

  limitMemory(): void {}
  /** whether the growth of memory is limited */
  isLimited = false;
  limitGrowth(): void {
    this.isLimited = true;
  }

  readonly listeners = new Map<string, object>();

  startDetached(argv: readonly string[]): Promise<number> {
    this.stdout.push(argv.join(' '));
    return Promise.resolve(0);
  }

  readonly primary = undefined;

  startWorker(): never {
    assert.fail('nobody starts processes');
  }

  tellServiceManager(): Promise<void> {
    return Promise.resolve();
  }

  openLog(): Promise<Log> {
    return Promise.resolve(this.log);
  }

  openAccessLog(): Promise<OpenAccessLog> {
    return Promise.resolve({ write: () => {}, reopen: undefined });
  }

  onCrash(handler: (error: unknown) => void): void {
    this.crash = handler;
  }

  onSignals(listener: SignalListener): void {
    this.signal = () => listener.stop();
  }
}
