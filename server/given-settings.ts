/** Settings as the operator has given them: the flag if there is one, else the variable. */
import { CLIENT_VARIABLES } from '../shared/client-variables.ts';
import { nearest } from '../shared/nearest.ts';
import { SETTING_NAMES, type SettingName, SETTINGS, type Standard, variableOf } from './settings.ts';
import type { SettingReader } from './setting-readers.ts';

/** What the names of all variables of Culvert begin with. */
const PREFIX = 'CULVERT_';

/** An empty text counts as not given. */
export class GivenSettings {
  /** One line for each wrong setting, naming it and what it takes. */
  readonly problems: string[] = [];
  readonly #env: NodeJS.ProcessEnv;
  readonly #flags: Readonly<Record<string, unknown>>;

  constructor(env: NodeJS.ProcessEnv, flags: Readonly<Record<string, unknown>>) {
    this.#env = env;
    this.#flags = flags;
  }

  /** Reads one setting, or returns its default; a text that it does not take is added to the problems. */
  read<N extends SettingName>(name: N): Standard<N> {
    return this.readGiven(name) ?? SETTINGS[name].standard;
  }

  /**
   * Reads one setting; a text that it does not take is added to the problems.
   *
   * @returns `undefined` when the setting is not given or wrong
   */
  readGiven<N extends SettingName>(name: N): Standard<N> | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const reader: SettingReader<unknown> = SETTINGS[name].reader;
    const value = reader.read(text);
    if (value === undefined) this.problems.push(`${this.nameAsGiven(name)} takes ${reader.takes}`);
    return value as Standard<N> | undefined;
  }

  /**
   * Adds each variable to the problems that looks like a setting and is none: the setting that was meant would be at its
   * default, and with another database or without its lock nobody would notice.
   */
  refuseUnknown(): void {
    const known = SETTING_NAMES.map(variableOf);
    const others = new Set<string>([...known, ...CLIENT_VARIABLES]);
    for (const name of Object.keys(this.#env).toSorted()) {
      if (!name.startsWith(PREFIX) || others.has(name)) continue;
      this.problems.push(`there is no setting ${name}; the nearest is ${nearest(name, known, Infinity)}`);
    }
  }

  /** What the operator wrote: the flag, or else the variable. */
  nameAsGiven(name: SettingName): string {
    return this.#flags[name] === undefined ? variableOf(name) : `--${name}`;
  }

  #text(name: SettingName): string | undefined {
    const flag = this.#flags[name];
    const text = typeof flag === 'string' ? flag : this.#env[variableOf(name)];
    return text === undefined || text.trim() === '' ? undefined : text.trim();
  }
}
