/** Exit statuses of the client commands. Those that follow work return the work's own exit code if it has one. */
export const EXIT_CODES = {
  OK: { status: 0, meaning: 'Success.' },
  FAILED: { status: 1, meaning: 'It could not be done; standard error shows why.' },
  USAGE: { status: 2, meaning: 'The command, an option, a profile or the input is invalid.' },
  NOT_FOUND: { status: 3, meaning: 'The object does not exist, or you may not see it.' },
  DENIED: { status: 4, meaning: 'The token is missing, is not valid, or does not allow this.' },
  CONFLICT: { status: 5, meaning: 'The state of the object does not allow it, or it conflicts with something else.' },
  UNREACHABLE: { status: 69, meaning: 'No server responded, or it is starting, stopping or without its database.' },
  TIMED_OUT: {
    status: 124,
    meaning: '`--timeout` of `wait` or `cancel` is over. The work continues to run or to stop.',
  },
  NO_STATUS: {
    status: 125,
    meaning:
      '`run`, `wait`, `logs --follow`: the work ended without an exit status: cancelled, lost, or never started.',
  },
  INTERRUPTED: {
    status: 130,
    meaning: 'Interrupted by Ctrl-C. Work on a server continues unless you requested otherwise.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ExitCode = keyof typeof EXIT_CODES

export function exitStatus(name: ExitCode): number {
  return EXIT_CODES[name].status
}
