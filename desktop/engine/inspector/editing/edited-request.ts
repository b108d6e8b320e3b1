import type { RequestDetail } from '../records.ts';
import { checkEdit } from './check-edit.ts';
import { composeRequest } from './compose-request.ts';
import { type RequestEdit, EditRefused } from './request-edit.ts';
import { restoreSecrets } from './restore-secrets.ts';

/**
 * The bytes of a recorded request as somebody has edited it, with the Host that it had.
 *
 * @param original with its secrets, which stand where the edited one says `[redacted]`
 * @throws EditRefused
 */
export function editedRequest(original: RequestDetail, edit: RequestEdit): Buffer {
  const { edit: restored, problems } = restoreSecrets(edit, original);
  const all = [...problems, ...checkEdit(restored)];
  if (all.length > 0) throw new EditRefused(all);
  const { fields, body } = original.request;
  const host = fields.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? '';
  return composeRequest({ ...restored, body: edit.body ?? body }, host);
}
