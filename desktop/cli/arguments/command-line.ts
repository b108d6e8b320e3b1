/** What the words after `culvert` share, whichever command they are of. */
import { TTL_RULE } from '../../../shared/value-rules.ts';
import type { ProjectRelay } from '../../config/project-trust.ts';
import type { CommandName } from '../options.ts';
import { type Environment, readRelayAccess, type RelayAccess, type RelaySources } from '../relay-access.ts';
import { UsageError } from '../usage-error.ts';
import type { Files } from './commands.ts';
import { readOption, type Values } from './parse.ts';

export class CommandLine {
  readonly command: CommandName;
  /** the words that are no options */
  readonly operands: readonly string[];
  readonly values: Values;
  readonly files: Files;
  readonly #env: Environment;

  constructor(
    command: CommandName,
    operands: readonly string[],
    values: Values,
    env: Environment,
    files: Files,
  ) {
    this.command = command;
    this.operands = operands;
    this.values = values;
    this.files = files;
    this.#env = env;
  }

  /** @throws UsageError for more operands than that */
  atMost(count: number): void {
    const more = this.operands.slice(count);
    if (more.length === 0) return;
    throw new UsageError(`"${more.join(' ')}" is more than "culvert ${this.command}" takes.`);
  }

  /** @throws UsageError */
  ttl(): string | undefined {
    return readOption('ttl', this.values.ttl, TTL_RULE);
  }

  /**
   * The id or slug of the tunnel that a command is about.
   *
   * @throws UsageError if it is missing, or not the only operand
   */
  tunnelName(): string {
    this.atMost(1);
    const [name = ''] = this.operands;
    if (name !== '') return name;
    this.checkPassword('The tunnel is missing');
    throw new UsageError('Say which tunnel: its id or its slug, as "culvert list" shows them.');
  }

  /**
   * The word that is missing may have been taken for a password.
   *
   * @throws UsageError
   */
  checkPassword(what: string): void {
    if (typeof this.values.password !== 'string') return;
    throw new UsageError(`${what}: --password takes the word after it, so put --password last.`);
  }

  /**
   * @param project a `culvert.yml` that names a relay
   * @throws UsageError, ProjectFileError
   */
  access(project?: ProjectRelay): RelayAccess {
    return readRelayAccess({ ...this.accessSources(), project });
  }

  accessSources(): RelaySources {
    return { options: this.values, env: this.#env, readLogin: () => this.files.readLogin() };
  }
}
