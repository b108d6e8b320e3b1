/** `culvert logout`. */
import { defineCommand } from '../command-line/command.ts';
import { jsonLine } from '../output/format.ts';

export const logoutCommand = defineCommand({
  name: 'logout',
  summary: 'Delete the stored API key',
  options: { Output: ['json'] },
  examples: { 'culvert logout': 'delete the stored relay and API key' },
  details: `
    The key itself stays valid. The relay's operator can revoke it with "culvert-relay key revoke".`,
  read: ({ values: { json = false } }) => ({ json }),
  async run({ json }, { stored, output }) {
    const wasSignedIn = await stored.remove();
    const text = wasSignedIn
      ? `Signed out and removed ${stored.path}. The key itself stays valid.`
      : 'You were not signed in.';
    output.out(json ? jsonLine({ signed_out: wasSignedIn }) : `${text}\n`);
  },
});
