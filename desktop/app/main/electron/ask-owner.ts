/** Asks the owner of the tunnels what another program wants to know. */
import type { Dialog } from 'electron';
import type { AskOwner } from '../../../client/owner-questions.ts';
import { translateMessage } from '../../messages/message-text.ts';
import { t } from '../../messages/translate.ts';

/** Asks in a dialog, which needs no window. Closing it refuses. */
export function askInDialog(dialog: Pick<Dialog, 'showMessageBox'>): AskOwner {
  return async (question, signal) => {
    const { response } = await dialog.showMessageBox({
      type: 'question',
      message: t('agent.asks'),
      detail: translateMessage(question),
      buttons: [t('agent.refuse'), t('agent.allow')],
      defaultId: 0,
      cancelId: 0,
      noLink: true,
      signal,
    });
    return response === 1 && !signal.aborted;
  };
}
