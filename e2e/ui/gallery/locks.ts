import type { AdmittedView, KnockView, LinkView, LockView } from '../../../desktop/shared/lock.ts';
import type { TunnelView } from '../../../desktop/shared/snapshot.ts';
import { HOUR, MINUTE, NOW } from './scene.ts';
import { HERON, QUIET_SHOP } from './tunnels.ts';

export const LINKS: readonly LinkView[] = [
  { id: 'l3', note: 'for the review', expiresAt: NOW + 23 * HOUR + 59 * MINUTE },
  { id: 'l2', note: 'Ann, from the agency that makes the pictures', expiresAt: NOW + 6 * 24 * HOUR },
  { id: 'l1', note: '', expiresAt: NOW + 38 * MINUTE },
];
export const PASSWORD: LockView = { kind: 'password', password: 'mild-oak-fern' };
export const KNOCKS: readonly KnockView[] = [
  {
    id: 'n1',
    address: '203.0.113.7',
    agent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36',
  },
  {
    id: 'n2',
    address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
    agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile/15E148 Safari/604.1',
  },
];
export const ADMITTED: readonly AdmittedView[] = KNOCKS.map((knock, index) => ({
  ...knock,
  endsAt: NOW + (index * 6 * 24 + 1) * HOUR - 17 * MINUTE,
}));
export const LOCKED: readonly TunnelView[] = [
  { ...QUIET_SHOP, lock: PASSWORD },
  {
    ...HERON,
    key: 'review',
    slug: 'design-review',
    url: 'https://design-review.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'links' },
  },
  {
    ...HERON,
    key: 'office',
    slug: 'office-wiki',
    url: 'https://office-wiki.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'addresses', allow: ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'] },
  },
  {
    ...HERON,
    key: 'other',
    slug: 'nightly-build',
    url: 'https://nightly-build.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'other', parts: ['addresses', 'users'], password: undefined },
  },
];
