/** Exit codes of processes that a signal ended, as a shell reports them. */
export const SIGKILLED = 137
export const SIGTERMED = 143
