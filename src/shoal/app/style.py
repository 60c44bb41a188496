"""How the pages look: one style sheet, for wide and for narrow windows."""

STYLE = """
body { font-family: system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif; color: #1d2329; background: #f4f5f6 }
h1 { font-size: 1.25rem; font-weight: 600; line-height: 1.4; margin: 0 }
h2 { font-size: 1.15rem; font-weight: 600; line-height: 1.4; margin: 0 }
h3 { font-size: 1rem; font-weight: 600; line-height: 1.4; margin: 0 }
h2:focus, h3:focus { outline: none }
.shoal-page { max-width: 62rem; margin: 0 auto; padding: 0.5rem }
.shoal-menu { width: 100%; max-width: 62rem; margin: 0 auto; padding: 0.25rem 0.5rem 0; display: flex; flex-wrap: wrap;
  gap: 0.25rem 1.25rem }
.shoal-menu a { color: #0b6b74; text-decoration: none; padding: 0.3rem 0; border-bottom: 3px solid transparent }
.shoal-menu a:hover { text-decoration: underline }
.shoal-menu a[aria-current] { color: #1d2329; font-weight: 600; border-color: #0b6b74 }
.shoal-file { overflow-wrap: anywhere }
.shoal-fields { width: 100%; display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr));
  gap: 1rem 1.25rem }
.shoal-fields > * { min-width: 0 }
.shoal-code { width: 100%; display: flex; gap: 0.5rem; align-items: flex-start; background: #eef1f3;
  padding: 0.4rem 0.6rem }
.shoal-code > :first-child { flex: 1; min-width: 0 }
.shoal-code pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.85rem }
#q-loading-bar { display: none }  /* a second one, without a name */
.shoal-drop { border: 2px dashed #9aa3ab; box-shadow: none; max-height: none }
.shoal-drop .q-uploader__header { background: transparent; color: #525b64 }
.shoal-drop .q-uploader__list { min-height: 0; padding: 0 }
.shoal-table { width: 100%; border-collapse: collapse }
.shoal-table th { text-align: left; font-weight: 600 }
.shoal-table th, .shoal-table td { padding: 0.15rem 0.75rem 0.15rem 0 }
.shoal-attributes td, .shoal-attributes th { vertical-align: top }
.shoal-attributes tbody { border-top: 1px solid #d8dce0 }
.shoal-attributes tbody:last-child { border-bottom: 1px solid #d8dce0 }
.shoal-panels { border: 1px solid #d8dce0; border-radius: 4px }
.shoal-panels > * + * { border-top: 1px solid #d8dce0 }
.shoal-details .nicegui-column:not(:empty) { padding: 0.25rem 0 0.5rem 0.5rem }
.shoal-roles { margin: 0 }
.shoal-roles dd { margin: 0 0 0.5rem 0 }
.shoal-table .shoal-bars tr { display: table-row }
.shoal-table .shoal-bars tr > th { width: auto }
.shoal-bars { width: 100%; border-collapse: collapse; font-size: 0.85rem }
.shoal-bars caption { text-align: left; font-weight: 600 }
.shoal-bars th { font-weight: 400; text-align: left; overflow-wrap: anywhere; max-width: 12rem }
.shoal-table .shoal-bars td { padding: 0.1rem 0.5rem; white-space: nowrap }
.shoal-table .shoal-bars .shoal-bar { width: 50% }
.shoal-bars .shoal-bar div { background: #0b6b74; height: 0.7rem }
.shoal-name { min-width: 9rem; max-width: 16rem; overflow-wrap: anywhere }
.shoal-scroll { width: 100%; overflow-x: auto }
.shoal-pictures svg { max-width: 100%; height: auto }
.shoal-result { width: 100%; overflow-wrap: anywhere }
.shoal-result p { margin: 0.4rem 0 }
.shoal-result ul { margin: 0.5rem 0; padding-left: 1.2rem; list-style: disc }
.shoal-result thead th, .shoal-result .n { overflow-wrap: normal }
.shoal-result .quiet { color: #525b64; font-size: 0.85rem; max-width: 46rem }
.shoal-result table { border-collapse: collapse; margin: 0.75rem 0 }
.shoal-result td, .shoal-result th { padding: 0.15rem 1.1rem 0.15rem 0; text-align: left; vertical-align: top;
  font-weight: 400 }
.shoal-result thead th { font-weight: 600; border-bottom: 1px solid #9aa3ab }
.shoal-result thead td { border-bottom: 1px solid #9aa3ab }
.shoal-result .n { text-align: right; font-variant-numeric: tabular-nums }
@media (max-width: 700px) {
  .shoal-table thead { display: none }
  .shoal-table tr { display: flex; flex-wrap: wrap; gap: 0.25rem 0.75rem; padding: 0.5rem 0 }
  .shoal-table tr > th { width: 100% }
  .shoal-table td { padding: 0 }
  .shoal-attributes tr > th { width: auto; flex: 1 1 60% }
  .shoal-attributes .shoal-details td { width: 100% }
  .shoal-name { max-width: none }
  .shoal-figures, .shoal-figures tbody, .shoal-figures tr, .shoal-figures td, .shoal-figures th { display: block }
  .shoal-figures thead { display: none }
  .shoal-figures tr { padding: 0.35rem 0; border-bottom: 1px solid #dde1e5 }
  .shoal-figures tr > th { font-weight: 600 }
  .shoal-result .shoal-figures td { padding: 0 0 0 0.75rem; text-align: left }
  .shoal-figures td:empty { display: none }
  .shoal-figures td[data-label]:not([data-label=""])::before { content: attr(data-label) ": "; color: #525b64 }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important } }
:focus-visible { outline: 3px solid #a8481c; outline-offset: 2px }
"""
