/** What the app remembers between two starts, except the key. */
import * as yup from 'yup';
import { RECORDED_BODY_MAX_BYTES } from '../../../client/limits.ts';
import { readTunnel } from '../../../client/relay/api-responses.ts';
import { type AccountView, KEPT_BODY_CHOICES, PANE_WIDTH_MAX, type Settings } from '../../ipc/snapshot.ts';
import { GLOBAL_SHORTCUTS } from '../../ipc/tunnel-views.ts';
import { LANGUAGE_CHOICES } from '../../messages/locale.ts';
import { type SavedTunnel, savedTunnelSchema } from '../tunnels/create-form-schema.ts';

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
    listWidth: paneWidth,
    logWidth: paneWidth,
    summonShortcut: yup.string().oneOf(GLOBAL_SHORTCUTS),
    onQuit: yup.string().oneOf(['ask', 'close', 'leave'] as const),
  })
  .strict()
  .noUnknown()
  .required() as unknown as yup.ObjectSchema<Partial<Settings>>;

export interface AppData {
  readonly settings: Settings;
  readonly account: SavedAccount | undefined;
  /** the relay of the last sign-in */
  readonly relay: string | undefined;
  readonly tunnels: readonly SavedTunnel[];
  /** whether the user has been told that closing the window leaves Culvert in the tray */
  readonly hasSaidTray: boolean;
  /** of the window when it was last seen */
  readonly window: WindowPlace | undefined;
  /** folders of the projects that were opened last, the last one first */
  readonly projects: readonly string[];
}

/** In px; without a stored position, the system or the tray determines it. */
export interface WindowPlace {
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly width: number;
  readonly height: number;
}

/** Shown until the relay can be asked. */
export interface SavedAccount {
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
    wrapsBodies: true,
    keptBody: RECORDED_BODY_MAX_BYTES,
    listWidth: 0,
    logWidth: 0,
    summonShortcut: GLOBAL_SHORTCUTS[0],
  },
  account: undefined,
  relay: undefined,
  tunnels: [],
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

const appData = yup
  .object({
    settings: settingsSchema,
    account,
    relay: yup.string(),
    tunnels: yup.array(savedTunnelSchema).required(),
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
    relay: data.relay,
    account: data.account,
    window: data.window,
    projects: data.projects ?? [],
    settings: { ...INITIAL_APP_DATA.settings, ...data.settings },
    tunnels: data.tunnels.map((saved) => ({
      ...saved,
      ended: saved.ended,
      logView: saved.logView,
      tunnel: readTunnel(saved.tunnel),
    })),
  };
}
