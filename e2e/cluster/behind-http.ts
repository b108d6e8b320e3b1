/** Loaded by mocha with `--require`: the relay of every suite is three of them behind nginx, which speaks HTTP and pools connections. */
import { BalancedRelays } from '../support/balanced-relays.ts';
import { startBalancer } from '../support/native-server.ts';
import { replaceRelay } from '../support/programs.ts';
import { leaveExceptionsOut } from './not-through-balancer.ts';

replaceRelay((scope, settings = {}) => BalancedRelays.start(scope, settings, startBalancer));

export const mochaHooks = leaveExceptionsOut('http');
