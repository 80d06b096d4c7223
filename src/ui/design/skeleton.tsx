import './panel.css'

const ROWS = 12

/** Of the height of rows, and only once somebody has waited. */
export function Skeleton() {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: ROWS }, (_, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- they are all the same
        <span key={index} className="skeleton-row">
          <i />
          <i />
          <i />
        </span>
      ))}
    </div>
  )
}
