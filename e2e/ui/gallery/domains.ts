import type { DomainView } from '../../../desktop/shared/domain.ts';

export const PENDING_DOMAIN: DomainView = {
  id: 'd2',
  domain: 'shop.example.org',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'shop.example.org', value: 'tunnels.example.com' },
    {
      type: 'TXT',
      name: '_culvert.shop.example.org',
      value: 'culvert-verify=2f1e0c5b9a7d46e38f20b1c4d5e6f708',
    },
  ],
};
export const DOMAINS: readonly DomainView[] = [
  { id: 'd1', domain: 'app.example.org', status: 'verified', records: [] },
  PENDING_DOMAIN,
];
export const DOMAIN_PROBLEMS = [
  { text: 'shop.example.org leads somewhere else: not to this relay.', found: ['203.0.113.7'] },
  { text: 'There is no TXT record _culvert.shop.example.org.', found: [] },
];
