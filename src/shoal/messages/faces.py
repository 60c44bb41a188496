"""Messages on the command line, the page, the report and the estimator."""

ERRORS = {
    # The command line
    "folder-not-empty": "Folder '{folder}' has other files. Choose another with --folder.",
    "folder-unusable": "Folder '{folder}' cannot be used: {reason}. Choose another with --folder.",
    "group-sizes-order": "must go from a smaller to a larger size, over at most {most:,} sizes.",
    "group-sizes-unreadable": "must be group sizes, for example 3-10 or 3,5,10.",
    "interrupted": "Interrupted.",
    "limits-failed": (
        "{number} of {limits:limit} of [policy '{policy}'][the policy{policy:!}] failed[, so '{file}' was not written]."
    ),
    "limits-not-measured": (
        "{number} of {limits:limit} of [policy '{policy}'][the policy{policy:!}] {number:~was/were} not measured[, but "
        "'{file}' was written]. It is not passed[ unless it has not_measured = \"allow\"{some:?}]."
    ),
    "no-input": (
        "[{table:!}Name the file to protect, for example shoal protect data.csv][{table:?}Pass a table, or name a file "
        "with input]."
    ),
    "no-memory": (
        "There is not enough memory.[{page:!} Free some, or set a limit, for example --memory=2GB]"
        "[{page:?} Use a smaller file]."
    ),
    "no-output": "Name the file to write, for example [-o={example}][{example:!}-o=masked.csv].",
    "no-such-command-option": "No such option: {option}.[ Did you mean {near}?] See {help}.",
    "scenario-unreadable": "must be a name and attributes, for example 1G=age,income.",
    "system-refused": "The system refused an operation ({reason}). Files that have their final names are complete.",
    "unexpected": "Unexpected {what}. Set SHOAL_DEBUG=1 to see where it happened.",
    "wrong-usage": "{problem}. See {help}.",
    # The report
    "no-before-and-after": "'{column}' is not a masked quasi-identifier, so there is no before and after to show.",
    "no-correlations": "There are no correlations to show: fewer than two numbers or dates were changed.",
    "no-group-sizes": "There are no group sizes to show: method '{method}' forms no groups without a k.",
    "no-such-attribute-block": "There is no attribute block {block}: the release has {blocks:,}.",
    "nothing-to-draw": "There is nothing to draw: all attributes are constant, and nothing can be lost.",
    "report-not-html": "'{path}' cannot be a report, which is a web page. Use a name that ends in .html.",
    "too-few-for-bars": "'{column}' cannot be shown in bars of at least {least:record}, and not in smaller ones.",
    # Serving the page
    "certificate-unusable": (
        "'{certificate}' and '{key}' must be a certificate and its own key, both in PEM form, the key without a "
        "passphrase."
    ),
    "host-unknown": "'{host}' is not a name or address of this machine.",
    "host-without-tls": (
        "'{host}' can be reached from other machines. Add --tls-cert and --tls-key, or --insecure if the network is "
        "trusted."
    ),
    "insecure-on-loopback": "does not apply: '{host}' can be reached from this machine only. Leave it out.",
    "job-limit-unreadable": "must be a time such as 30min or 2h.",
    "port-needs-rights": "{port} needs administrator rights. Use a port above 1023.",
    "port-taken": "{port} is used by another program. Choose another, or 0 for any free one.",
    "proxy-every-address": "must not be every address. Name the proxy's own.",
    "proxy-secret-short": "'{path}' must hold at least {least} characters in one line: {command}.",
    "proxy-secret-unreadable": "'{path}' cannot be read, or is no text. It must hold the secret of the proxy.",
    "proxy-unreadable": "must be addresses or networks, such as 127.0.0.1 or 172.18.0.0/16.",
    "public-url-not-https": "must begin with https, so that the network cannot read what is sent.",
    "public-url-unreadable": "must be an address such as https://stat.example.org/shoal.",
    "user-header-unreadable": "must be the name of a header, such as X-Remote-User.",
    "user-header-without-secret": (
        "needs --proxy-secret. Without it, every user of the proxy's machine could claim to be anyone."
    ),
    # Requests to the page
    "another-site": "Another site asked for this. Only the page itself may.",
    "another-window": "This window belongs to another session. Reload the page.",
    "length-twice": "The request states its length twice. Send Content-Length or Transfer-Encoding, not both.",
    "no-session": "There is no session. Open [the link that is shown where shoal app was started{url:!}][{url}].",
    "no-user": "The proxy did not name a user. Ask its administrator.",
    "no-websocket": "The page needs a WebSocket. Let the proxy in front of it pass WebSockets on.",
    "nothing-here": "There is nothing here. The page itself is at the address without a path.",
    "one-file-at-a-time": "Send one file at a time.",
    "only-the-proxy": "Only the proxy may ask here. Open {url}.",
    "other-name": "The page is not served under this name. Open the link as it was shown.",
    "page-failed": "Something unexpected happened. The terminal shows what kind of failure.",
    "too-large-request": (
        "The [{headers:?}headers are][{file:?}file is][{headers:!}{file:!}request is] larger than {most:byte}, which "
        "is all that is allowed."
    ),
    "too-many-connections": "This session has too many open connections. Close some of its windows.",
    "too-many-sessions": "There are {most:session}, which is all that is allowed. Come back later.",
    "too-many-tokens": "Too many wrong tokens. Wait {seconds:second}.",
    "too-many-uploads": "This session is already sending {most:file}. Wait until they have arrived.",
    "too-many-windows": "This session has {most:window}, the most it may have. Close one of them.",
    "wrong-token": "This token is wrong, or was used before.",
    # Work on the page
    "file-lost": (
        "The file did not arrive[, perhaps because the machine of the page has no room for it{large:?}]. Try again."
    ),
    "file-not-taken": (
        "The file was not taken. Its kind can be {kinds:words}[, its size at most {limit}][ (larger files are for the "
        "command line: shoal protect){table:?}]."
    ),
    "file-needed": "choose a file.",
    "name-with-comma": "A name with a comma cannot be typed on a command line. Rename the column.",
    "no-room-for-file": "The file could not be stored: there is no room for it on this machine.",
    "no-such-download": "There is no such file. Protect a file first.",
    "page-without-spark": "The page does not use Spark. Protect the file on the command line: {command}.",
    "role-of-several": "is chosen for {columns:names}. Only one can have this role: change the others in step 2.",
    "rules-file-needed": "are in '{file}', which the plan needs. Upload this file, or remove it.",
    "same-file-name": "Two files have the name '{file}'. Rename one, so that both can be in one folder.",
    "seed-of-your-own": (
        "is required here, because all users of this page share one secret. Enter a long number of your own."
    ),
    "session-erased": "The session was erased while the file arrived. Upload it again.",
    "too-large-to-count": (
        "The file is larger than the free memory of this machine, so its values are not counted here."
    ),
    "too-many-columns-for-page": (
        "The file has {columns:column}, and the page takes {most:,} at most. Use the command line: shoal roles, then "
        "shoal protect."
    ),
    "value-needed": "fill this in.",
    "work-not-started": "The work could not be started for lack of memory or processes. Try again later.",
    "work-stopped": "The work was stopped from outside, perhaps for lack of memory. Try again, or with a smaller file.",
    "work-too-long": (
        "The work took longer than {limit}, the limit here. Use a smaller file or a quicker method, or the command "
        "line: shoal protect."
    ),
}

WARNINGS = {
    "look-at-column": "Column '{column}': {warning}",
}

NOTES = {
    "earlier-demo-replaced": "The files of an earlier demo in {folder} were replaced.",
    "files-complete": "Complete: {files:words}.",
    "not-verifiable": "This check cannot verify {what}.",
    "releases-differ": (
        "The releases differ in {columns:names}. If rows are not in the same order, add --key: otherwise records seem "
        "less protected than they are."
    ),
}
