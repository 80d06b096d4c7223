/** The text of the log line about a move, or about an outcome that moved nothing. */
export function describeMove(
  handler: string,
  { from, to, outcome, message }: { from: string; to: string; outcome: string; message: string | null },
): string {
  const says = from === to ? `${handler}: ${outcome} in ${from}` : `${handler}: ${from} → ${to}`
  return message === null ? says : `${says}: ${message}`
}
