/** What of the address was not understood. */
export function Dropped({ names }: { names: readonly string[] | undefined }) {
  if (names === undefined) return null
  return (
    <p className="notice" role="status">
      Not understood in the address, and left out: {names.join(', ')}
    </p>
  )
}
