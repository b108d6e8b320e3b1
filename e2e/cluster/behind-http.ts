/**
 * Loaded by mocha with `--require`: replaces the relay of every suite with three behind nginx, which speaks HTTP and
 * pools connections.
 */
import { BalancedRelays } from '../support/balanced-relays.ts';
import { startBalancer } from '../support/native-server.ts';
import { replaceRelay } from '../support/programs.ts';
import { leaveExceptionsOut } from './not-through-balancer.ts';

replaceRelay((scope, settings = {}) => BalancedRelays.start(scope, settings, startBalancer));

export const mochaHooks = leaveExceptionsOut('http');
