import { t } from '../../i18n/translate.ts';
import type { Problem } from '../../shared/snapshot.ts';
import { toCallError } from '../failure.ts';
import type { Handlers } from '../handlers/handle.ts';
import type { Platform } from '../platform.ts';
import type { TrayAction } from './tray-model.ts';

/** For how long a visitor is let in who is answered outside the window. */
const ADMITTED_TTL = '1h';

export interface TrayActsOptions {
  /** the same functions as the window's, so that both do the same */
  readonly handlers: Handlers;
  readonly showWindow: () => void;
  readonly openForm: () => void;
  readonly platform: Pick<Platform, 'tell' | 'report'>;
}

/** Does what was chosen in the tray's menu, and says so if it failed. */
export async function act(
  action: TrayAction,
  { handlers, showWindow, openForm, platform }: TrayActsOptions,
): Promise<void> {
  try {
    switch (action.do) {
      case 'show':
        showWindow();
        break;
      case 'new':
        openForm();
        break;
      case 'releases':
        await handlers['app:open-link']({ link: 'releases' });
        break;
      case 'quit':
        await handlers['app:quit'](undefined);
        break;
      case 'choose':
        showWindow();
        await handlers[action.channel](undefined);
        break;
      case 'copy':
        await handlers['tunnel:copy-url'](action);
        break;
      case 'copy-share':
        await handlers['tunnel:copy-share'](action);
        break;
      case 'open':
        await handlers['tunnel:open-url'](action);
        break;
      case 'extend':
        await handlers['tunnel:extend'](action);
        break;
      case 'admit':
        await handlers['knock:admit']({ ...action, ttl: ADMITTED_TTL });
        break;
      case 'refuse':
        await handlers['knock:refuse'](action);
        break;
      case 'stop':
        await handlers['tunnel:stop'](action);
        break;
      case 'start':
        await handlers['tunnel:start'](action);
        break;
    }
  } catch (error) {
    platform.tell(problemOf(error));
    if (toCallError(error) === undefined) platform.report(`tray: ${action.do}`, error);
  }
}

function problemOf(error: unknown): Problem {
  return toCallError(error) ?? { code: 'internal', text: t('problem.wrong') };
}
