import { decodeBody } from '../../engine/inspector/decode-body.ts';
import type { RecordedMessage, RequestDetail } from '../../engine/inspector/records.ts';
import type { DetailView, MessageView } from '../../shared/ipc.ts';

/** A request as the window shows it: bodies that were compressed also as they were before. */
export function detailView(detail: RequestDetail): DetailView {
  const { request, response } = detail;
  return { ...detail, request: messageView(request), response: response && messageView(response) };
}

function messageView(message: RecordedMessage): MessageView {
  const decoded = decodeBody(message);
  if (decoded.removed.length + decoded.codings.length === 0) return message;
  // What goes to the window is a Uint8Array of its own: all of the memory behind it goes, too.
  return { ...message, decoded: { ...decoded, bytes: Uint8Array.from(decoded.bytes) } };
}
