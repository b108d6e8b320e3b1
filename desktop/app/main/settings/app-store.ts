import { readFile, rename } from 'node:fs/promises';
import * as yup from 'yup';
import { DurableFile, isMissing } from '../../../client/config/durable-file.ts';
import { readTunnel } from '../../../client/relay/api-responses.ts';
import { type AccountView, KEPT_BODY_CHOICES, PANE_WIDTH_MAX, type Settings } from '../../ipc/snapshot.ts';
import { GLOBAL_SHORTCUTS } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_CHOICES } from '../../messages/translate.ts';
import type { AsleepMessage } from '../tunnels/asleep.ts';
import { type SavedTunnel, savedTunnelSchema } from '../tunnels/create-form-schema.ts';
import { RECORDED_BODY_MAX_BYTES } from '../../../client/inspector/records.ts';

/** Maximum number of relays and accounts that the app is signed in to at the same time. */
export const SESSIONS_MAX = 10;

/** What the app remembers, in memory and on disk. */
export class AppStore {
  readonly #file: Pick<JsonFile<AppData>, 'save'>;
  #data: AppData;

  constructor(file: Pick<JsonFile<AppData>, 'save'>, data: AppData) {
    this.#file = file;
    this.#data = data;
  }

  get data(): AppData {
    return this.#data;
  }

  /** Takes effect immediately; resolves when it is on disk. */
  async change(part: Partial<AppData>): Promise<void> {
    this.#data = { ...this.#data, ...part };
    await this.#file.save(this.#data);
  }
}

/** What the app remembers of one sign-in. */
export class SessionStore {
  readonly slot: number;
  readonly #store: AppStore;
  #isRemoved = false;

  constructor(store: AppStore, slot: number) {
    this.#store = store;
    this.slot = slot;
  }

  get data(): SavedSession {
    return this.#store.data.sessions.find(({ slot }) => slot === this.slot) ?? newSession(this.slot);
  }

  /** As {@link AppStore.change}. The first change adds it to the others; none has an effect once it is removed. */
  async change(part: Partial<Omit<SavedSession, 'slot'>>): Promise<void> {
    // Another sign-in may have its number.
    if (this.#isRemoved) return;
    const { sessions } = this.#store.data;
    const changed = { ...this.data, ...part };
    const isNew = !sessions.some(({ slot }) => slot === this.slot);
    await this.#store.change({
      sessions: isNew
        ? [...sessions, changed]
        : sessions.map((other) => (other.slot === this.slot ? changed : other)),
    });
  }

  remove(): Promise<void> {
    this.#isRemoved = true;
    return this.#store.change({
      sessions: this.#store.data.sessions.filter(({ slot }) => slot !== this.slot),
    });
  }
}

/* What the app remembers in a file of its own, as JSON with the version of its shape. */

export interface JsonFileOptions<T> {
  readonly path: string;
  /** incremented when the shape changes in a way that an older Culvert cannot read */
  readonly version: number;
  /** @throws for a value of another shape */
  readonly read: (value: unknown) => T;
  readonly initial: T;
}

/** What {@link JsonFile.load} found. */
export interface Loaded<T> {
  readonly value: T;
  /** where a file that could not be read was put */
  readonly asideAt: string | undefined;
}

/** Where a value is stored: a file, or memory for a window that must not write what the app may be writing. */
export type ValueFile<T> = Pick<JsonFile<T>, 'load' | 'save' | 'remove'>;

/** Forgets its value with the process. */
export class MemoryFile<T> implements ValueFile<T> {
  readonly #initial: T;
  #value: T;

  constructor(initial: T) {
    this.#initial = initial;
    this.#value = initial;
  }

  load(): Promise<Loaded<T>> {
    return Promise.resolve({ value: this.#value, asideAt: undefined });
  }

  save(value: T): Promise<void> {
    this.#value = value;
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return this.save(this.#initial);
  }
}

export class JsonFile<T> {
  readonly #options: JsonFileOptions<T>;
  readonly #file: DurableFile;

  constructor(options: JsonFileOptions<T>) {
    this.#options = options;
    this.#file = new DurableFile(options.path);
  }

  /** @throws if the file exists but cannot be opened or moved */
  async load(): Promise<Loaded<T>> {
    const { path, version, read, initial } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (isMissing(error)) return { value: initial, asideAt: undefined };
      throw error;
    }
    try {
      const file: unknown = JSON.parse(text);
      if (typeof file !== 'object' || file === null || !('version' in file) || file.version !== version) {
        throw new Error('another version');
      }
      return { value: read('data' in file ? file.data : undefined), asideAt: undefined };
    } catch {
      return { value: initial, asideAt: await this.#setAside() };
    }
  }

  /** Moves the file to a path that nothing overwrites. @returns that path */
  async #setAside(): Promise<string> {
    const { path } = this.#options;
    const asideAt = `${path}.bad-${Date.now()}`;
    await rename(path, asideAt);
    return asideAt;
  }

  /** Resolves when the value is on disk. Saves follow one another in the order of the calls. */
  async save(value: T): Promise<void> {
    await this.#file.write(
      `${JSON.stringify({ version: this.#options.version, data: value }, undefined, 2)}\n`,
    );
  }

  async remove(): Promise<void> {
    await this.#file.remove();
  }
}

/* What a change of the settings may contain. */

const paneWidth = yup.number().integer().min(0).max(PANE_WIDTH_MAX);

// yup writes "may be missing" as "may be undefined".
export const settingsSchema = yup
  .object({
    startsAtLogin: yup.boolean(),
    notifies: yup.boolean(),
    theme: yup.string().oneOf(['system', 'light', 'dark'] as const),
    language: yup.string().oneOf(LANGUAGE_CHOICES),
    wrapsBodies: yup.boolean(),
    keptBody: yup.number().oneOf(KEPT_BODY_CHOICES),
    saysTrayMissing: yup.boolean(),
    listWidth: paneWidth,
    logWidth: paneWidth,
    summonShortcut: yup.string().oneOf(GLOBAL_SHORTCUTS),
    onQuit: yup.string().oneOf(['ask', 'close', 'leave'] as const),
    saysAsleep: yup.string().oneOf(['ask', 'yes', 'no'] as const),
  })
  .strict()
  .noUnknown()
  .required() as unknown as yup.ObjectSchema<Partial<Settings>>;

interface AppData {
  readonly settings: Settings;
  readonly sessions: readonly SavedSession[];
  /** slot of the session that the window showed last */
  readonly shownSlot: number;
  /** whether the user has been told that closing the window leaves Culvert in the tray */
  readonly hasSaidTray: boolean;
  /** of the window when it was last seen */
  readonly window: WindowPlace | undefined;
  /** folders of the projects that were opened last, the last one first */
  readonly projects: readonly string[];
}

interface SavedSession {
  /** number of the files with its secrets, below {@link SESSIONS_MAX} */
  readonly slot: number;
  readonly account: SavedAccount | undefined;
  /** the relay of the last sign-in */
  readonly relay: string | undefined;
  readonly tunnels: readonly SavedTunnel[];
  /** messages of kept names that were set when this computer fell asleep, until they are taken back */
  readonly asleep: readonly AsleepMessage[];
}

function newSession(slot: number): SavedSession {
  return { slot, account: undefined, relay: undefined, tunnels: [], asleep: [] };
}

/** In px; without a stored position, the system or the tray determines it. */
export interface WindowPlace {
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly width: number;
  readonly height: number;
}

/** Shown until the relay can be asked. */
interface SavedAccount {
  /** the account whose tunnels are remembered */
  readonly clientId: string;
  readonly view: AccountView;
}

export const APP_DATA_VERSION = 1;

export const INITIAL_APP_DATA: AppData = {
  settings: {
    startsAtLogin: false,
    notifies: true,
    theme: 'system',
    language: 'system',
    onQuit: 'ask',
    saysAsleep: 'ask',
    wrapsBodies: true,
    keptBody: RECORDED_BODY_MAX_BYTES,
    saysTrayMissing: true,
    listWidth: 0,
    logWidth: 0,
    summonShortcut: GLOBAL_SHORTCUTS[0],
  },
  sessions: [],
  shownSlot: 0,
  hasSaidTray: false,
  window: undefined,
  projects: [],
};

const text = yup.string().defined();
const seconds = yup.number().integer().min(0).required();
const account = yup
  .object({
    clientId: text,
    view: yup
      .object({
        name: text,
        plan: text,
        nameDomain: text,
        allowsNames: yup.boolean().required(),
        defaultTtl: seconds,
        maxTtl: seconds,
      })
      .required(),
  })
  .default(undefined);

const pixels = yup.number().integer();
const place = yup
  .object({ x: pixels, y: pixels, width: pixels.min(1).required(), height: pixels.min(1).required() })
  .default(undefined);

const slot = yup
  .number()
  .integer()
  .min(0)
  .max(SESSIONS_MAX - 1)
  .required();
const session = yup.object({
  slot,
  account,
  relay: yup.string(),
  tunnels: yup.array(savedTunnelSchema).required(),
  asleep: yup.array(yup.object({ name: text, text }).required()),
});

const appData = yup
  .object({
    settings: settingsSchema,
    sessions: yup.array(session.required()).max(SESSIONS_MAX).required(),
    shownSlot: slot,
    hasSaidTray: yup.boolean().required(),
    window: place,
    projects: yup.array(text),
  })
  .strict();

/** @throws for what this app has not written */
export function readAppData(value: unknown): AppData {
  const data = appData.validateSync(value);
  return {
    ...data,
    window: data.window,
    projects: data.projects ?? [],
    settings: { ...INITIAL_APP_DATA.settings, ...data.settings },
    sessions: data.sessions.map((saved) => ({
      ...saved,
      relay: saved.relay,
      account: saved.account,
      asleep: saved.asleep ?? [],
      tunnels: saved.tunnels.map((tunnel) => ({
        ...tunnel,
        ended: tunnel.ended,
        logView: tunnel.logView,
        tunnel: readTunnel(tunnel.tunnel),
      })),
    })),
  };
}
