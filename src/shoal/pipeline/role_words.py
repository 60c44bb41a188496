"""Words in the names and labels of columns that tell what a column is, in seven languages of official statistics.

English, German, French, Spanish, Italian, Catalan, and some Portuguese. `*` stands for any letters, `#` for a number.
Words are compared in lower case and without accents, one by one, in pairs (`post code` is `postcode`) and all together.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

# The order matters: the first meaning that fits is taken.
MEANINGS: dict[str, str] = {
    "survey weight": """
        pweight* fweight* iweight* aweight* pwgt* finalwt* finalweight fnlwgt afnlwgt perwt* hhwt* pwt* hhwgt*
        perwgt* samplingweight surveyweight designweight personweight sampleweight repwt# repweight* weighting
        expansion* hochrechnung* hrf gewichtung* ponder* coefpond coefexp factorexp* fexp* pesocamp*
        pesoriport* facpob""",
    "weight": "weight* wgt* *wgt wt repwt gewicht* poids* peso pesos pes pond *weight",
    "household": """
        hh hhid hhnr hhno hhnum hid household* dwelling haushalt* hhold menage* foyer hogar* vivienda
        famiglia* familia* family* nucleo* llar* habitatge domicilio""",
    "unit": """
        firm* company* enterprise* plant establishment* betrieb* unternehmen* entreprise* etablissement*
        empresa* impresa* azienda school scuola ecole clinic* psu cluster* site* patient* subject* respondent*
        participant* client* customer* kunde* employee* member* student* pupil* teacher* case* fall individu*
        proband* worker player* owner driver* doctor* user* carrier hhpid pers persnum persid persnr person
        persons hospital hospitals""",
    "number": """
        id ids ident* number num nr no nummer* *nummer lfdnr key code codigo codice codi numero* kennung
        kennziffer ref reference seq serial rownames rowname rownum index idx row rows uuid guid *num *cod
        *code *id""",
    "direct identifier": """
        name names *name *names surname* forename* nachname vorname nom noms prenom* nombre nombres apellido*
        nome nomi cognom* nomcognom* ssn sin nin nino nhs nhsno passport* passeport pasaporte passaporto mail
        email* *mail courriel correo correu phone* telephone* *phone tel telefon* mobile handy* fax address*
        adresse* anschrift* street* strasse* *strasse hausnummer rue calle carrer direccion* indirizzo* via
        adreca* iban bic account* konto* cuenta conto compte ip ipaddress url website web login username
        nickname license* licence* plate* kennzeichen signature unterschrift photo foto image picture
        fingerprint dni nif nie cif siren siret insee nir tin vat ustid steuernummer* steuerid ahv* svnr
        codicefiscale matricula* matricola* matricule* matrikel* personalnummer* personnummer cpr cedula*
        tailnum ticket* cabin contact* kontakt*""",
    "birth": """
        birth* *birth dob yob born geburt* geb gebdat gebjahr naissance* naiss nacimiento* nacim nascita*
        naixement* nascimento*""",
    "death": "death* died deceased tod todes* deces* morte defuncio*",
    "size": """
        size* groesse taille tamano talla dimensione mida members persons people headcount npers nperson*
        count room* bedroom* cars""",
    "age": "age ages aged alter *alter edad* eta edat* idade agegr* agecat* agep agew ageh",
    "sex": "sex sexe sexo sesso gender* genre geschl* genero genere male female man woman",
    "place": """
        region* state states stateid county provinc* city town* municip* district* zip* postcode* postal* plz
        ort wohnort* gemeinde* kreis* bundesland* kanton* land ville commune* comune departement*
        departamento* ciudad* comunidad* ccaa citta cap poblacio* comarca* area areas rural* location* place*
        lat latitude lon long lng longitude coord* geo* nuts* lau* msa puma fips neighbo* barrio* barri
        quartier* address_city residence* domicile country* pays pais paese continent island* origin dest
        destination airport* faa stadt* local* zone* zona* tract block* borough* parish* smsa urb*""",
    "nationality": """
        nation* citizen* staatsang* ciudadan* cittadin* migra* race* racial raza razza hisp* black white asian
        foreign* auslaender* language* sprache* langue* lengua* idioma lingua llengua* tribe ethn*""",
    "education": """
        educ* school* *school bildung* ausbildung* schul* abschluss* diplom* etude* estudi* istruzione titolo*
        degree* college* grade level_of_education niveau qualif* formation* studies eduyears yrsed hsgrad
        univ* ed eds""",
    "occupation": """
        occup* job* profess* beruf* metier* emploi* ocupacion* profesion* ofici* employ* unempl* work* labor*
        labour* industr* branche* sector* settore nace isco isic naics sic erwerb* arbeit* travail* trabaj*
        lavoro* treball* lforce lfstatus taetigkeit* stellung csp pcs army military rank exper*""",
    "family status": """
        marital* married* marriage marr marst spous* husb* wife familienstand* verheirat* etatcivil* matrimon*
        conjug* estadocivil* statocivil* estatcivil* divorc* widow* single celib* yrsmarried *civil relat*""",
    "family": """
        child* kid kids kidslt* kidsge* nkids kinder* enfant* hijo* figli* fills sibling* sibsp parch parent*
        dependent* depend baby babies pregnan* parity""",
    "body": """
        height stature bodyheight koerpergroesse hauteur altezza alcada bmi eyes hair* skin* blood* handed*
        bodyw* birthw* bwt hwt lwt repht hgt""",
    "housing": """
        tenure* wohn* housing home* owner* mieter* logement* vehicle* auto autos roof* wall* water* electric*
        heating* toilet* dach*""",
    "health": """
        health* gesund* sante salud* salute salut diagnos* diag icd* illness* ill sick* krank* malad*
        enfermedad* malatt* malalt* disab* behinder* handicap* invalid* discapac* hiv aids cancer* tumor*
        tumour* krebs depress* mental* psych* suicid* drug* droge* smok* rauch* tabac* fum* alcohol* alkohol*
        drink* therap* medic* surgery hospitalis* hospitaliz* symptom* pain infection* diabet* chol*
        treat* arm arms trial* control* placebo
        pressure* glucose bp systol* diastol* hemo* haemo* asthma pregn* abort* status_health mort* surviv*
        relapse* remission* prison* visits doctor_co nonpresc* prescr* hscore chcond* doctorco stage*
        histolog* lymph* karno* ecog toxic* disea* hlth* pulse puls transplant*""",
    "belief": """
        relig* faith church* konfession* kirche* croyan* iglesia* chiesa* polit* party partei* parti partido*
        partito* partit vote* voting wahl* ideolog* union* gewerkschaft* sindica* syndic* sexual* orient*
        affair* crime* criminal* convict* arrest* strafta* delit* reato victim* opfer* bullying abuse*""",
    "opinion": """
        meinung* avis opinio* attitude* einstell* actitud* trust* vertrau* confiance* confianza* fiducia*
        satisf* zufried* happ* glueck* bonheur* feliz* felic* lifesat* agree* likert* rating* rate rates
        score*""",
    "money": """
        income* inc *income einkommen* *einkommen revenu* ingres* reddit* earn* wage* *wage lwage salar* lohn*
        gehalt* salaire* sueldo* stipend* pay payment* wealth* vermoegen* patrimoin* patrimon* debt* schuld*
        dette* deuda* debit* tax* steuer* impot* impuest* impost* rent* miete* loyer* alquiler* affitto*
        lloguer* turnover* umsatz* sales* venta* vendit* profit* gewinn* benefic* cost* kosten* cout* price*
        preis* prix precio* prezzo* preu spend* expend* ausgab* depens* gasto* spesa spese despes* savings*
        sparen* epargn* ahorr* asset* capital* dividend* interest* zins* amount* betrag* montant* importe*
        importo* import loan* kredit* credit* budget* premium* gross* brutto* netto* fare invest* *tax *sales
        *revenue *earnings *cost *costs""",
    "classification": "zip* postcode* postal* plz cap fips* puma nuts* lau* isco* isic* nace* naics* sic icd*",
    "stratum": "strat strata stratum schicht* strate* strato strati estrat*",
    "design": """
        wave* welle* vague* oleada* ola* onda ondata onada questionnaire* fragebogen* quarter quartal* trimestre*""",
    "time": """
        date* datum* fecha* data time* zeit* temps tiempo* tempo hour* stunde* heure* hora* ora minute* day*
        tag jour dia giorno month* monat* mois mes mese year* yr yrs jahr* annee* ano anno any interview*
        duration* dauer* tenure_years depart* arriv* entry exit start* end week* wk wks woche* semaine*
        semana* settiman* setman*""",
}


# Words that end like a number of something and are none.
_NO_NUMBER = """
    paid unpaid prepaid said kid grid covid valid invalid solid acid lipid thyroid fluid rapid
    steroid bid mid aid raid hybrid humid avoid void typhoid rheumatoid minimum platinum aluminum
"""


def words_of(text: str) -> list[str]:
    """Cut a text into its words, in lower case and without accents: `BirthDate_2` is birth, date, 2."""
    for letter, plain in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue"), ("ß", "ss")):
        text = text.replace(letter, plain)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", plain)]


def meanings(text: str) -> dict[str, str]:
    """Return the meanings of a name in order of precedence, each with the word of the name that has it."""
    words = [word for word in words_of(text) if word not in _NO_NUMBER.split()]
    pairs = ["".join(pair) for pair in pairwise(words)]
    spoken = [*words, *pairs, "".join(words)]
    found = {}
    for meaning in MEANINGS:
        word = next((word for word in spoken if means(word, meaning)), None)
        if word is not None:
            found[meaning] = word
    return found


class _Vocabulary(NamedTuple):
    """The words of a meaning; compiled into one regular expression they would take a tenth of a second."""

    whole: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]


@cache
def _vocabulary(meaning: str) -> _Vocabulary:
    words = MEANINGS[meaning].split()
    return _Vocabulary(
        frozenset(word for word in words if "*" not in word),
        tuple(word[:-1] for word in words if word.endswith("*")),
        tuple(word[1:] for word in words if word.startswith("*")),
    )


def means(word: str, meaning: str) -> bool:
    """Whether a word in lower case is one of those of a meaning."""
    whole, starts, ends = _vocabulary(meaning)
    return (
        word in whole
        or (word[-1:].isdigit() and f"{word.rstrip('0123456789')}#" in whole)
        or (word.startswith(starts) and any(_are_letters(word[len(s) :]) for s in starts if word.startswith(s)))
        or (word.endswith(ends) and any(_are_letters(word[: -len(e)]) for e in ends if word.endswith(e)))
    )


def _are_letters(rest: str) -> bool:
    return not rest or rest.isalpha()


# Scales whose order is known from their words alone.
_SCALES = """
    none|very low|low|lower middle|medium|moderate|middle|average|upper middle|high|very high
    never|almost never|rarely|seldom|occasionally|sometimes|often|very often|usually|almost always|always
    strongly disagree|disagree|somewhat disagree|neither|neutral|undecided|somewhat agree|agree|strongly agree
    very poor|poor|fair|good|very good|excellent
    very bad|bad|fair|good|very good
    very dissatisfied|dissatisfied|neither|neutral|satisfied|very satisfied
    not at all|a little|somewhat|quite a bit|very much
    none|mild|moderate|severe|very severe
    xs|s|m|l|xl|xxl
    tiny|small|medium|large|huge
    none|primary|lower secondary|secondary|upper secondary|post-secondary|tertiary|bachelor|master|doctorate
    no|don't know|unsure|maybe|yes
    first|second|third|fourth|fifth
    1st class|2nd class|3rd class|4th class
    i|ii|iii|iv|v|vi|vii|viii|ix|x
    sehr niedrig|niedrig|mittel|hoch|sehr hoch
    nie|selten|manchmal|gelegentlich|oft|meistens|immer
    sehr schlecht|schlecht|mittel|gut|sehr gut
    klein|mittel|gross
    jamais|rarement|parfois|souvent|toujours
    faible|moyen|eleve
    nunca|raramente|a veces|a menudo|siempre
    bajo|medio|alto
    mai|raramente|a volte|spesso|sempre
    basso|medio|alto
    mai|rarament|de vegades|sovint|sempre
    baix|mitja|alt
"""
_TWO_WORDS = {"no", "yes"}


def in_order(levels: Iterable[str]) -> list[str] | None:
    """Return levels in order, if all are words of one scale, in any case; None otherwise."""
    plain = {" ".join(words_of(level)): level for level in levels}
    for line in _SCALES.strip().splitlines():
        scale = {" ".join(words_of(word)): place for place, word in enumerate(line.strip().split("|"))}
        if len(plain) >= 2 and plain.keys() <= scale.keys() and not plain.keys() <= _TWO_WORDS:
            return [plain[word] for word in sorted(plain, key=scale.__getitem__)]
    return None


_NO_ANSWER = re.compile(
    r"\b(missing|no answer|not answered|no response|non ?response|refus\w*|don'?t know|do not know|dk|na|n/a"
    r"|not applicable|inapplicable|not asked|not stated|not ascertained|unknown|skip\w*|invalid|keine angabe"
    r"|weiss nicht|k\. ?a\.|trifft nicht zu|verweigert|ohne angabe|ne sait pas|nsp|sans reponse|non reponse|sans objet"
    r"|no sabe|no contesta|ns/nc|no procede|no consta|non so|non risponde|mancante|non applicabile|no ho sap"
    r"|no aplicable|perdut)\b"
)


def is_no_answer(label: str) -> bool:
    """Whether the label of a code says that there is no answer."""
    for letter, plain in (("ß", "ss"), ("\u2019", "'")):
        label = label.replace(letter, plain)
    return bool(_NO_ANSWER.search(unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()))
