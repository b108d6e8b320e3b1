/** A knock as the REST interface shows it (docs/protocol.md section 11.3). */
import type { Knock } from '../../../shared/knocks.ts';
import { endOf, stateOf } from '../../gate/held-knocks.ts';
import type { StoredKnock } from '../../store/records.ts';
import { text, timestamp } from '../json-schema.ts';
import { resource } from './resource.ts';

export const KNOCK = resource<StoredKnock, Knock>({
  id: { schema: { type: 'string', pattern: '^[0-9a-f]{16}$' }, of: ({ id }) => id },
  status: { schema: { enum: ['waiting', 'admitted', 'refused'] }, of: stateOf },
  address: { schema: { ...text, description: "the visitor's IP address" }, of: ({ address }) => address },
  agent: {
    schema: { ...text, description: "the visitor's `User-Agent`, without control characters" },
    of: ({ agent }) => agent,
  },
  at: { schema: timestamp, of: ({ at }) => new Date(at).toISOString() },
  ends_at: {
    schema: { ...timestamp, description: 'until when the visitor waits, is in, or may not knock again' },
    of: (knock) => new Date(endOf(knock)).toISOString(),
  },
});
