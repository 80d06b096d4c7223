interface Props {
  isFresh: boolean
  onChange: (isFresh: boolean) => void
}

/** Whether a resubmission begins without what earlier attempts have left. */
export function FreshCheckpoint({ isFresh, onChange }: Props) {
  return (
    <label className="field-switch">
      <input type="checkbox" checked={isFresh} onChange={({ target }) => onChange(target.checked)} />
      <span>From the beginning: without the checkpoint of earlier attempts</span>
    </label>
  )
}
