import type { InvitationView } from '../../../desktop/shared/snapshot.ts';
import { HOUR, NOW, type Scene } from './scene.ts';
import { scripted } from './scripted.ts';
import { HERON, SHOP } from './tunnels.ts';
const KEEPS = ['system', 'session', 'file'] as const;
const SIGNED_OUT = { state: 'signed-out', relay: 'https://tunnels.example.com', problem: undefined } as const;
const INVITATION: InvitationView = {
  id: 'i',
  relay: 'https://relay.example.org',
  state: 'open',
  account: 'agency',
  endsAt: NOW + 23 * HOUR,
  keeps: KEEPS,
};

export const SIGN_IN_SCENES: readonly Scene[] = [
  {
    name: 'sign-in',
    alt: 'Sign-in: relay address, API key, and where the key is kept',
    main: scripted({ session: { ...SIGNED_OUT, relay: undefined, keeps: KEEPS } }),
  },
  {
    name: 'sign-in-problems',
    alt: 'Sign-in with a word beside each field that is wrong',
    main: scripted({
      hasNetwork: false,
      session: {
        ...SIGNED_OUT,
        keeps: ['session', 'file'],
        problem: { code: 'key-refused', text: 'The API key was revoked. Sign in with another one.' },
      },
    }),
    go: async (page) => {
      await page.locator('#relay').fill('my relay');
      await page.locator('#key').fill('cvt_short');
      await page.locator('button.primary').click();
    },
  },
  {
    name: 'invitation',
    alt: 'An invitation that was opened: to which relay it leads and as whom, what it ends, and where the key is kept',
    main: scripted({ tunnels: [SHOP, HERON], invitation: INVITATION }),
  },
  {
    name: 'invitation-ended',
    alt: 'An invitation that was used already',
    main: scripted({
      session: { ...SIGNED_OUT, keeps: KEEPS },
      invitation: {
        id: 'i',
        relay: 'https://relay.example.org',
        state: 'failed',
        problem: {
          code: 'invitation-ended',
          text: 'This invitation was used already, has ended, or never was. Whoever sent it to you can send another one.',
        },
      },
    }),
  },
];
