/** Of a tunnel: why it is not online, and what its visitors and its local service run into. */
export const TUNNEL_SAYINGS = {
  'tunnel.lost': 'No connection to the relay: {why}.',
  'tunnel.keyExpired': 'The API key has expired.',
  'tunnel.keyRevoked': 'The API key was revoked.',
  'tunnel.accountRemoved': 'The account was removed, and the API key with it.',
  'tunnel.replaced': 'Another client has taken over this tunnel.',
  'tunnel.closed': 'The tunnel was closed.',
  'tunnel.expired': 'The tunnel has expired.',
  'tunnel.gone': 'The tunnel was closed or has expired.',
  'tunnel.domainGone': 'The domain of the tunnel is not yours any more.',
  'tunnel.suspended': 'The account is suspended.',
  'tunnel.suspendedFor': 'The account is suspended: {reason}.',
  'tunnel.draining': 'The relay is shutting down.',
  'tunnel.closedWith': 'The relay closed the connection with code {code}.',
  'tunnel.keyRefused': 'The relay refused the API key: {why}.',
  'tunnel.refusedForNow': 'The relay refused for now: {why}.',
  'tunnel.refused': 'The relay refused the connection: {why}.',
  'tunnel.sleeps': 'This computer is going to sleep.',
  'tunnel.stopped': 'Stopped.',
  'local.noHttps': 'No HTTPS connection to {service}: {why}. The tunnel stays up.',
  'local.refused': 'Nothing answers on {service}. Start the service there; the tunnel stays up.',
  'local.reset':
    'The service on {service} closed a connection without a response. Its own output should say why.',
  'local.slow':
    'A visitor has been waiting for {seconds} s for an answer of the service on {service}. Nothing is cut: it may take as long as it likes.',
  'local.hostBlocked':
    'The service on {service} refuses the host name that visitors use. Start with --host-header local, or allow the name ({setting}).',
  'visitor.tooMany': 'More than {max} connections at once: a visitor was turned away.',
  'visitor.lost': 'A visitor was lost: {why}',
  'visitor.left': 'A visitor left before the connection was open.',
} as const;
