/** Opening the tunnels of a project's `culvert.yml`, and sharing folders by a menu. */
export const PROJECT = {
  'project.open': 'Open a project…',
  'project.openFolder': 'Share a folder…',
  'project.reopen': 'Open project {name}',
  'project.instead': 'In place of a port',
  'project.question': 'Start tunnels of <b>{name}</b>?',
  'project.explained':
    'Its culvert.yml says what visitors reach, and who may come in. Start what you know: whoever wrote the file has chosen it.',
  'project.cannot': 'This project cannot be opened',
  'project.tunnels': 'Tunnels of {name}',
  'project.randomName': 'random address',
  'project.leadsTo': 'leads to',
  'project.ttl': 'for {ttl}',
  'project.lockUnknown': 'who may come in cannot be told',
  'project.online': 'Online already',
  'project.starting': 'Starting…',
  'project.started': 'Started',
  'project.start': '{count, plural, =0 {Start tunnels} one {Start # tunnel} other {Start # tunnels}}',
  'project.isStarting': 'Starting…',
  'project.allStarted': '{count, plural, one {# tunnel is started.} other {# tunnels are started.}}',
  'project.someFailed':
    '{failed, plural, one {# tunnel could not be started.} other {# tunnels could not be started.}}',
  'project.none': 'There is no culvert.yml in this folder. Choose the folder of a project that has one.',
  'project.otherRelay':
    'It is for the relay {relay}, and you are signed in to {own}. Sign in there, or run culvert start.',
  'project.otherMachine':
    'Cannot be started here: it leads to another machine, {host}, which visitors would reach through this one. If that is meant, run culvert start --allow-other-hosts.',
  'project.unset':
    'Cannot be started here: {why}, and without it the tunnel would not have its lock. Run culvert start where the variable is set, or start Culvert from there.',
  'project.openAgain': 'This project is no longer shown. Open it again.',
  'drop.here': 'Drop a folder to share it, or to open the project in it',
  'drop.isProject': 'It also has a culvert.yml: its tunnels can be started in place of sharing its files.',
  'drop.openProject': 'Show its tunnels',
} as const;
